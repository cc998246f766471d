package observe_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
	"github.com/critical-service/operator/internal/protection"
)

// slowServer lists as many CriticalServices as it was asked before, when it may.
type slowServer struct {
	client.Reader

	asked atomic.Int32
	may   chan struct{}
}

// List implements client.Reader.
func (s *slowServer) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	n := s.asked.Add(1)
	<-s.may
	policies := list.(*criticalv2.CriticalServiceList)
	for range n {
		policies.Items = append(policies.Items, criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	}
	return nil
}

// noFallbacks is an API server without ServiceFallbacks.
type noFallbacks struct{ client.Reader }

// List implements client.Reader.
func (noFallbacks) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func TestManyWhoAskShareAReadThatBeginsAfterThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		server := &slowServer{may: make(chan struct{})}
		policies := observe.NewPolicyReader(server, noFallbacks{}, noFallbacks{})
		results := make(chan int, 101)
		ask := func() {
			items, err := policies.List(t.Context(), "web")
			g.Expect(err).NotTo(HaveOccurred())
			results <- len(items)
		}
		go ask()
		synctest.Wait()
		for range 100 {
			go ask()
		}
		synctest.Wait()
		close(server.may)
		synctest.Wait()
		g.Expect(server.asked.Load()).To(BeEquivalentTo(2), "one read was under way, and one serves all who came meanwhile")
		close(results)
		var read []int
		for n := range results {
			read = append(read, n)
		}
		slices.Sort(read)
		g.Expect(read[:2]).To(Equal([]int{1, 2}), "who asks after a read has begun must not get what it read")
	})
}

func team(name string, age int, services ...string) *criticalv2.ServiceFallback {
	return &criticalv2.ServiceFallback{
		ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(time.Unix(int64(1_800_000_000-age), 0))},
		Spec:       criticalv2.ServiceFallbackSpec{Services: services},
	}
}

func TestThePoliciesOfANamespace(t *testing.T) {
	g := NewWithT(t)
	elsewhere := team("elsewhere", 0, web.Name)
	elsewhere.Namespace = "elsewhere"
	observer, _ := observetest.Of(t, critical(criticalv2.Fallback{}), team("own", 0, web.Name), elsewhere)
	names := func(policies []criticalv2.Policy) (names []string) {
		for _, policy := range policies {
			names = append(names, policy.GetNamespace()+"/"+policy.GetName())
		}
		return names
	}
	g.Expect(names(observe.Policies(t.Context(), observer.Cached, web.Namespace))).To(ConsistOf("/storefront", web.Namespace+"/own"))
	g.Expect(names(observe.AllPolicies(t.Context(), observer.Cached))).To(ConsistOf("/storefront", web.Namespace+"/own", "elsewhere/elsewhere"))
	off := observe.WithoutTenants{Reader: observer.Cached}
	g.Expect(names(observe.Policies(t.Context(), off, web.Namespace))).To(ConsistOf("/storefront"))
	g.Expect(apierrors.IsNotFound(off.Get(t.Context(), client.ObjectKeyFromObject(elsewhere), &criticalv2.ServiceFallback{}))).To(BeTrue())
	g.Expect(off.Get(t.Context(), client.ObjectKey{Name: "storefront"}, &criticalv2.CriticalService{})).To(Succeed())
}

func TestAServiceFallbackBeyondTheBoundDoesNotCount(t *testing.T) {
	g := NewWithT(t)
	var objects []client.Object
	for i := range protection.MaxFallbacks {
		objects = append(objects, team(fmt.Sprintf("old-%03d", i), 10+i))
	}
	surplus := team("a-new-one", 0, web.Name)
	observer, client := observetest.Of(t, append(objects, surplus)...)
	g.Expect(observe.Policies(t.Context(), observer.Cached, web.Namespace)).To(HaveLen(protection.MaxFallbacks))
	g.Expect(observe.Counts(t.Context(), observer.Cached, surplus)).To(BeFalse())
	g.Expect(observe.Counts(t.Context(), observer.Cached, objects[0].(*criticalv2.ServiceFallback))).To(BeTrue())
	g.Expect(observe.Counts(t.Context(), observer.Cached, critical(criticalv2.Fallback{}))).To(BeTrue())
	misplaced := func() (names []string) {
		observe.EachMisplaced(t.Context(), observer.Cached, web.Namespace, func(policy criticalv2.Policy) { names = append(names, policy.GetName()) })
		return names
	}
	g.Expect(misplaced()).To(BeEmpty(), "no status says anything yet")
	meta.SetStatusCondition(&surplus.Status.Conditions, metav1.Condition{Type: criticalv2.ConditionReady, Status: metav1.ConditionFalse, Reason: criticalv2.ConditionReasonTooMany})
	g.Expect(client.Status().Update(t.Context(), surplus)).To(Succeed())
	g.Expect(misplaced()).To(BeEmpty(), "it says that it does not count")

	g.Expect(client.Delete(t.Context(), objects[7])).To(Succeed())
	g.Expect(client.Delete(t.Context(), objects[8])).To(Succeed())
	g.Expect(observe.Counts(t.Context(), observer.Cached, surplus)).To(BeTrue())
	g.Expect(misplaced()).To(Equal([]string{"a-new-one"}), "however many are gone")

	for i := range 2 {
		g.Expect(client.Create(t.Context(), team(fmt.Sprintf("older-%d", i), 500))).To(Succeed())
	}
	surplus.Spec.Services, surplus.Spec.ServiceSelector = nil, &metav1.LabelSelector{MatchLabels: map[string]string{"no label": ""}}
	surplus.Status.Conditions[0].Reason = criticalv2.ConditionReasonSelectorInvalid
	g.Expect(client.Update(t.Context(), surplus)).To(Succeed())
	g.Expect(client.Status().Update(t.Context(), surplus)).To(Succeed())
	g.Expect(misplaced()).To(BeEmpty(), "its status says only that its selector is not valid, and each event would wake for all such")
}

// A team can make its list as large as it likes, and must not end withdrawals by that.
func TestALiveListThatIsTooLargeIsReadFromTheCache(t *testing.T) {
	g := NewWithT(t)
	observer, _ := observetest.Of(t, team("own", 0, web.Name))
	policies := observe.NewPolicyReader(noFallbacks{}, tooLarge{}, observer.Cached)
	found, err := policies.List(t.Context(), web.Namespace)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(HaveLen(1))
}

// tooLarge is an API server whose answers are.
type tooLarge struct{ client.Reader }

// List implements client.Reader.
func (tooLarge) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return fmt.Errorf("list: %w", &http.MaxBytesError{Limit: 1})
}

func TestATeamWhoseListIsSlowDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		slow := &slowNamespace{namespace: "slow", may: make(chan struct{})}
		policies := observe.NewPolicyReader(noFallbacks{}, slow, noFallbacks{})
		go func() { _, _ = policies.List(t.Context(), "slow") }()
		synctest.Wait()
		_, err := policies.List(t.Context(), web.Namespace)
		g.Expect(err).NotTo(HaveOccurred())
		close(slow.may)
	})
}

// slowNamespace is an API server that does not answer of one namespace until it may.
type slowNamespace struct {
	client.Reader
	namespace string
	may       chan struct{}
}

// List implements client.Reader.
func (s *slowNamespace) List(_ context.Context, _ client.ObjectList, options ...client.ListOption) error {
	chosen := &client.ListOptions{}
	chosen.ApplyOptions(options)
	if chosen.Namespace == s.namespace {
		<-s.may
	}
	return nil
}

// BenchmarkPoliciesOfATeam measures what a decision about a Service costs whose namespace has
// 10,000 ServiceFallbacks, of which few count.
func BenchmarkPoliciesOfATeam(b *testing.B) {
	for _, fallbacks := range []int{0, protection.MaxFallbacks, 10_000} {
		b.Run(fmt.Sprint(fallbacks), func(b *testing.B) {
			indexer := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
			for i := range fallbacks {
				if err := indexer.Add(team(fmt.Sprintf("web-%d", i), i, web.Name)); err != nil {
					b.Fatal(err)
				}
			}
			reader := indexed{indexer}
			for b.Loop() {
				found := observe.Policies(b.Context(), reader, web.Namespace)
				protection.Matching(found, service(), nil)
			}
		})
	}
}

// indexed reads ServiceFallbacks as the caches of controller-runtime do: without copies.
type indexed struct{ toolscache.Indexer }

// Get implements client.Reader.
func (indexed) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

// List implements client.Reader.
func (i indexed) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	list, isOfTeam := into.(*criticalv2.ServiceFallbackList)
	if !isOfTeam {
		return nil
	}
	found, err := i.ByIndex(toolscache.NamespaceIndex, web.Namespace)
	list.Items = make([]criticalv2.ServiceFallback, 0, len(found))
	for _, object := range found {
		list.Items = append(list.Items, *object.(*criticalv2.ServiceFallback))
	}
	return err
}
