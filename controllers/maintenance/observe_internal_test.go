package maintenance

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// A maintenance that is over ends when the application answers, which must mean the
// same as for the controller of Services: see internal/protection.
func TestWhetherTheApplicationAnswers(t *testing.T) {
	service := func() *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
		}
	}
	slice := func(edits ...func(*discoveryv1.EndpointSlice)) *discoveryv1.EndpointSlice {
		made := &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: "shop-1", Labels: map[string]string{discoveryv1.LabelServiceName: "shop"}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080))}},
			Endpoints: []discoveryv1.Endpoint{{
				Addresses: []string{"10.0.0.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "shop-1", UID: "shop-1"},
			}},
		}
		for _, edit := range edits {
			edit(made)
		}
		return made
	}
	pod := func(apiVersion, kind string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "shop-1", UID: "shop-1", Labels: map[string]string{criticalv2.LabelFallbackFor: "shop"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "shop", Controller: new(true)}},
		}}
	}
	for sentence, test := range map[string]struct {
		there []client.Object
		want  bool
	}{
		"with a ready Pod":    {[]client.Object{service(), slice()}, true},
		"not without any":     {[]client.Object{service()}, false},
		"not without Service": {[]client.Object{slice()}, false},
		"not with one that is not ready": {[]client.Object{service(), slice(func(s *discoveryv1.EndpointSlice) {
			s.Endpoints[0].Conditions.Ready = new(false)
		})}, false},
		"not by the standby": {[]client.Object{service(), slice(func(s *discoveryv1.EndpointSlice) {
			s.Labels[discoveryv1.LabelManagedBy] = criticalv2.ManagedBy
		})}, false},
		"not without a port of the Service": {[]client.Object{service(), slice(func(s *discoveryv1.EndpointSlice) {
			s.Ports[0].Name = new("admin")
		})}, false},
		"not under a host name": {[]client.Object{service(), slice(func(s *discoveryv1.EndpointSlice) {
			s.AddressType, s.Endpoints[0].Addresses = discoveryv1.AddressTypeFQDN, []string{"shop.example.com"}
		})}, false},
		"not by a fallback Pod":                           {[]client.Object{service(), slice(), pod("mycrd.com/v2", "CriticalService")}, false},
		"by a Pod of the application with a copied label": {[]client.Object{service(), slice(), pod("apps/v1", "ReplicaSet")}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			o := &observer{cached: fake.NewClientBuilder().WithObjects(test.there...).Build()}
			answers, err := o.answers(t.Context(), client.ObjectKeyFromObject(service()))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(answers).To(Equal(test.want))
		})
	}
}
