package ingress

import (
	"testing"

	. "github.com/onsi/gomega"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

func TestWhatNoDecisionReadsWakesNoIngress(t *testing.T) {
	options := Options{Annotations: map[string]string{"foo": "bar"}}
	slim := func(g *WithT, ingress *networkingv1.Ingress) client.Object {
		kept, err := options.slimIngress(ingress.DeepCopy())
		g.Expect(err).NotTo(HaveOccurred())
		return kept.(client.Object)
	}
	for sentence, c := range map[string]struct {
		change func(*networkingv1.Ingress)
		want   bool
	}{
		"its address": {func(i *networkingv1.Ingress) {
			i.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}}
		}, false},
		"a label":                        {func(i *networkingv1.Ingress) { i.Labels = map[string]string{"team": "shop"} }, false},
		"an annotation of others":        {func(i *networkingv1.Ingress) { i.Annotations["team"] = "shop" }, false},
		"TLS":                            {func(i *networkingv1.Ingress) { i.Spec.TLS = []networkingv1.IngressTLS{{SecretName: "web"}} }, false},
		"an annotation that is kept":     {func(i *networkingv1.Ingress) { i.Annotations["foo"] = "baz" }, true},
		"the annotation of its fallback": {func(i *networkingv1.Ingress) { i.Annotations[workloadsv1.AnnotationFallback] = "web" }, true},
		"its class":                      {func(i *networkingv1.Ingress) { i.Spec.IngressClassName = new("nginx") }, true},
		"a backend": {func(i *networkingv1.Ingress) {
			i.Spec.DefaultBackend = &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web"}}
		}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			before := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{}}}
			after := before.DeepCopy()
			c.change(after)
			g.Expect(changes.Update(event.UpdateEvent{ObjectOld: slim(g, before), ObjectNew: slim(g, after)})).To(Equal(c.want))
			g.Expect(changes.Create(event.CreateEvent{Object: slim(g, after)})).To(BeTrue(), "what exists at the start is looked at")
			g.Expect(changes.Delete(event.DeleteEvent{Object: slim(g, after)})).To(BeFalse(), "what is gone needs nothing")
		})
	}
}

func TestOnlyAPromotionOrItsEndWakesTheIngressesOfAService(t *testing.T) {
	g := NewWithT(t)
	slice := func(promoted bool) client.Object {
		return &discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: &promoted}}}}
	}
	for _, promoted := range []bool{false, true} {
		g.Expect(promotions.Create(event.CreateEvent{Object: slice(promoted)})).To(Equal(promoted))
		g.Expect(promotions.Delete(event.DeleteEvent{Object: slice(promoted)})).To(Equal(promoted))
		g.Expect(promotions.Update(event.UpdateEvent{ObjectOld: slice(promoted), ObjectNew: slice(promoted)})).To(BeFalse())
		g.Expect(promotions.Update(event.UpdateEvent{ObjectOld: slice(promoted), ObjectNew: slice(!promoted)})).To(BeTrue())
	}
}
