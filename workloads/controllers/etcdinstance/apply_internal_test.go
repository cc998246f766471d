package etcdinstance

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/critical-service/operator/internal/controller/fault"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/live"
)

// counted counts what a cluster is asked to change.
type counted struct {
	live.Etcd
	asked int
}

func (c *counted) Change(context.Context, []live.Address, *decide.Change) error {
	c.asked++
	return nil
}

// Caches that began behind scaled the members by an earlier spec, and back.
func TestWhatIsWrittenIsOfTheSpecThatIsStored(t *testing.T) {
	now := &workloadsv1alpha1.ETCDInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "etcd", UID: "1", Generation: 2}}
	behind := now.DeepCopy()
	behind.Generation = 1
	named := metav1.ObjectMeta{Namespace: "shop", Name: "etcd"}
	for sentence, plan := range map[string]*decide.Plan{
		"a StatefulSet":         {StatefulSet: &appsv1.StatefulSet{ObjectMeta: named}},
		"a ConfigMap":           {Config: &corev1.ConfigMap{ObjectMeta: named}},
		"a change of members":   {Change: &decide.Change{Kind: decide.Remove, Name: "etcd-2"}},
		"the deletion of a Pod": {RemovePod: &decide.Removal{Pod: &corev1.Pod{ObjectMeta: named}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			known := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, workloadsv1alpha1.AddToScheme)
			g.Expect(known.AddToScheme(scheme)).To(Succeed())
			stored := fake.NewClientBuilder().WithScheme(scheme).WithObjects(now).Build()
			writes, etcd := 0, &counted{}
			r := &Reconciler{observer: observer{live: stored, etcd: etcd}, client: counting(stored, &writes)}

			_, err := r.apply(t.Context(), &sight{Snapshot: decide.Snapshot{Instance: behind}}, plan)
			g.Expect(fault.Of(err)).To(Equal(fault.Wait), "%v", err)
			g.Expect(writes + etcd.asked).To(BeZero())
			_, err = r.apply(t.Context(), &sight{Snapshot: decide.Snapshot{Instance: now}}, plan)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(writes + etcd.asked).To(Equal(1))
		})
	}
}

// A cache that showed the members late took the Pod of one away that had got its vote.
func TestWhatIsDoneIsForTheMembersThatAreNoted(t *testing.T) {
	named := metav1.ObjectMeta{Namespace: "shop", Name: "etcd"}
	instance := &workloadsv1alpha1.ETCDInstance{ObjectMeta: named}
	for sentence, plan := range map[string]*decide.Plan{
		"a StatefulSet":         {StatefulSet: &appsv1.StatefulSet{ObjectMeta: named}},
		"a change of members":   {Change: &decide.Change{Kind: decide.Remove, Name: "etcd-2"}},
		"the deletion of a Pod": {RemovePod: &decide.Removal{Pod: &corev1.Pod{ObjectMeta: named}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			stored := fake.NewClientBuilder().WithObjects(&corev1.ConfigMap{ObjectMeta: named}).Build()
			now := &corev1.ConfigMap{}
			g.Expect(stored.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "etcd"}, now)).To(Succeed())
			writes, etcd := 0, &counted{}
			r := &Reconciler{observer: observer{live: stored, etcd: etcd}, client: counting(stored, &writes)}
			behind := now.DeepCopy()
			behind.ResourceVersion = "1"

			err := r.run(t.Context(), &sight{Snapshot: decide.Snapshot{Instance: instance, Config: behind}}, plan, &outcome{})
			g.Expect(fault.Of(err)).To(Equal(fault.Wait), "%v", err)
			g.Expect(writes + etcd.asked).To(BeZero())
			g.Expect(r.run(t.Context(), &sight{Snapshot: decide.Snapshot{Instance: instance, Config: now}}, plan, &outcome{})).To(Succeed())
			g.Expect(writes + etcd.asked).To(Equal(1))
		})
	}
}

// counting counts the objects that are applied and deleted.
func counting(stored client.WithWatch, writes *int) client.Client {
	return interceptor.NewClient(stored, interceptor.Funcs{
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			*writes++
			return nil
		},
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			*writes++
			return nil
		},
	})
}

// Each event of a Pod sent the ConfigMap again while the cache did not show it, only to meet a conflict.
func TestAConfigMapIsWrittenOnceOfEachVersion(t *testing.T) {
	instance := &workloadsv1alpha1.ETCDInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "etcd"}}
	config := func(version string) *decide.Plan {
		return &decide.Plan{Config: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "etcd", ResourceVersion: version}}}
	}
	for sentence, conflict := range map[string]error{
		"it was accepted":   nil,
		"it met a conflict": apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "etcd", nil),
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			writes := 0
			r := &Reconciler{client: interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
				Apply: func(_ context.Context, _ client.WithWatch, applied runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
					writes++
					applied.(metav1.Object).SetResourceVersion("9")
					return conflict
				},
			})}
			began := time.Now()
			write := func(plan *decide.Plan, after time.Duration) error {
				return r.config(t.Context(), &sight{Snapshot: decide.Snapshot{Instance: instance, Now: began.Add(after)}}, plan, &outcome{})
			}
			g.Expect(write(config("7"), 0) == nil).To(Equal(conflict == nil))
			g.Expect(fault.Of(write(config("7"), time.Millisecond))).To(Equal(fault.Wait))
			g.Expect(writes).To(Equal(1), "the cache shows the same version")
			_ = write(config("8"), time.Millisecond)
			g.Expect(writes).To(Equal(2), "it shows another one")
			_ = write(config("8"), cacheBehind+time.Millisecond)
			g.Expect(writes).To(Equal(3), "it was not what was written")
		})
	}
}
