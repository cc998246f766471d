package provision

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

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
