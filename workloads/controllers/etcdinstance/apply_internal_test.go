package etcdinstance

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/critical-service/operator/internal/controller/fault"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/live"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
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
	instance.UID = "1"
	entries := []render.Entry{render.First(instance)}
	plans := map[string]*decide.Plan{
		"a ConfigMap":           {Config: &corev1.ConfigMap{ObjectMeta: named}},
		"a budget":              {Budget: &policyv1.PodDisruptionBudget{ObjectMeta: named}},
		"a StatefulSet":         {StatefulSet: &appsv1.StatefulSet{ObjectMeta: named}},
		"a change of members":   {Change: &decide.Change{Kind: decide.Remove, Name: "etcd-2"}},
		"the deletion of a Pod": {RemovePod: &decide.Removal{Pod: &corev1.Pod{ObjectMeta: named}}},
	}
	for on, notedOn := range map[string]client.Object{
		"on the ConfigMap": render.Config(instance, entries), "on the StatefulSet": render.StatefulSet(instance, entries, 1, "etcd"),
	} {
		for sentence, plan := range plans {
			t.Run(sentence+", noted "+on, func(t *testing.T) {
				g := NewWithT(t)
				stored := fake.NewClientBuilder().WithObjects(notedOn).Build()
				now := notedOn.DeepCopyObject().(client.Object)
				g.Expect(stored.Get(t.Context(), client.ObjectKeyFromObject(now), now)).To(Succeed())
				behind := now.DeepCopyObject().(client.Object)
				behind.SetResourceVersion("1")
				writes, etcd := 0, &counted{}
				r := &Reconciler{observer: observer{live: stored, etcd: etcd}, client: counting(stored, &writes)}

				err := r.run(t.Context(), seen(instance, behind), plan, &outcome{})
				g.Expect(fault.Of(err)).To(Equal(fault.Wait), "%v", err)
				g.Expect(writes + etcd.asked).To(BeZero())
				g.Expect(r.run(t.Context(), seen(instance, now), plan, &outcome{})).To(Succeed())
				g.Expect(writes + etcd.asked).To(Equal(1))
			})
		}
	}
}

// seen is an ETCDInstance with the object on which its members are noted.
func seen(instance *workloadsv1alpha1.ETCDInstance, noted client.Object) *sight {
	snap := decide.Snapshot{Instance: instance}
	snap.Config, _ = noted.(*corev1.ConfigMap)
	snap.StatefulSet, _ = noted.(*appsv1.StatefulSet)
	return &sight{Snapshot: snap}
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
