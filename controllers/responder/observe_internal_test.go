package responder

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

func TestNothingIsKeptOfWhatIsGone(t *testing.T) {
	g := NewWithT(t)
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: criticalv2.ResponderName, UID: "uid", Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderServer},
	}}
	o := observer{cached: fake.NewClientBuilder().WithObjects(deployment).WithIndex(&discoveryv1.EndpointSlice{}, indexOfPage, indexPage).Build()}
	o.digests.Set(ownObject{"shop", "*v1.Deployment"}, digest{"uid", "digest"})
	o.digests.Set(ownObject{"shop", "*v1.ConfigMap"}, digest{"old", "digest"})
	o.digests.Set(ownObject{"gone", "*v1.Deployment"}, digest{"older", "digest"})

	snap, err := o.observe(t.Context(), "shop")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(snap.Answers).To(Equal(map[types.UID]string{"uid": "digest"}))
	_, err = o.observe(t.Context(), "gone")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.digests.Keys()).To(ConsistOf(ownObject{"shop", "*v1.Deployment"}))
}
