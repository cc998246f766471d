package provision

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
)

func TestASliceIsAnOrphanWhereItsPodIsGoneForGood(t *testing.T) {
	stays := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "responder-1", UID: "1"}}
	ends := stays.DeepCopy()
	ends.DeletionTimestamp, ends.Finalizers = new(metav1.Now()), []string{"example.com/keep"}
	another := stays.DeepCopy()
	another.UID = "2"
	tests := map[string]struct {
		kind         string
		cached, live *corev1.Pod
		want         bool
	}{
		"the Pod is gone":                        {kind: "Pod", want: true},
		"another Pod has its name":               {kind: "Pod", cached: another, live: another, want: true},
		"the cache does not show yet that it is": {kind: "Pod", cached: ends, want: true},
		"the cache does not show the Pod yet":    {kind: "Pod", live: stays},
		"the Pod is about to end":                {kind: "Pod", cached: ends, live: ends},
		"the Pod stays":                          {kind: "Pod", cached: stays, live: stays},
		"the cache says so, and that is enough":  {kind: "Pod", cached: stays},
		"the slice belongs to no Pod":            {kind: "CriticalService"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", OwnerReferences: []metav1.OwnerReference{{Kind: test.kind, Name: "responder-1", UID: "1"}},
			}}
			r := &Reconciler{Observer: observe.Observer{Cached: holding(test.cached), Live: holding(test.live)}}
			g.Expect(r.isOrphan(t.Context(), slice)).To(Equal(test.want))
		})
	}
}

func holding(pod *corev1.Pod) client.Client {
	if pod == nil {
		return fake.NewFakeClient()
	}
	return fake.NewFakeClient(pod)
}

// Of 10,000 Services each has such a slice after a rollout.
func TestAnOrphanIsDeletedAfterOneReadAndTheOthersAreReadLive(t *testing.T) {
	g := NewWithT(t)
	sliceOf := func(pod types.UID) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-standby-" + string(pod), UID: "slice-of-" + pod, ResourceVersion: "7",
			OwnerReferences: []metav1.OwnerReference{{Kind: "Pod", Name: "responder-" + string(pod), UID: pod}},
		}}
	}
	orphan, kept := sliceOf("1"), sliceOf("2")
	stays := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "responder-2", UID: "2"}}
	written, reads := fake.NewFakeClient(orphan.DeepCopy(), kept.DeepCopy()), 0
	live := interceptor.NewClient(fake.NewFakeClient(stays), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			reads++
			return c.Get(ctx, key, object, options...)
		},
	})
	r := &Reconciler{Observer: observe.Observer{Cached: holding(stays), Live: live}, Client: written}

	var done outcome
	others, err := r.unpublishOrphans(t.Context(), []*discoveryv1.EndpointSlice{orphan, kept}, &done)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(others).To(ConsistOf(kept))
	g.Expect(done.unpublished).To(ConsistOf(orphan))
	g.Expect(reads).To(Equal(1), "the cache shows that the other Pod stays")
	g.Expect(apierrors.IsNotFound(written.Get(t.Context(), client.ObjectKeyFromObject(orphan), &discoveryv1.EndpointSlice{}))).To(BeTrue())
	g.Expect(written.Get(t.Context(), client.ObjectKeyFromObject(kept), &discoveryv1.EndpointSlice{})).To(Succeed())

	done, reads = outcome{}, 0
	done, err = r.apply(t.Context(), types.NamespacedName{Namespace: "shop", Name: "web"}, &decide.Snapshot{}, decide.Plan{Unpublish: []*discoveryv1.EndpointSlice{sliceOf("3")}})
	g.Expect(err).NotTo(HaveOccurred(), "a slice that is gone already is no failure")
	g.Expect(reads).To(Equal(1), "nothing else is read live")
}
