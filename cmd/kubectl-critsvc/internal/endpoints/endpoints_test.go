package endpoints

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
)

// slice is one of a Service, with an endpoint of a Pod.
func slice(pod, address string, edits ...func(*discoveryv1.EndpointSlice)) discoveryv1.EndpointSlice {
	s := discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Port: new(int32(8080))}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{address}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: pod, UID: types.UID(pod)},
		}},
	}
	for _, edit := range edits {
		edit(&s)
	}
	return s
}

// pod is one that a controller of a kind made, with the label of fallbacks.
func pod(uid types.UID, apiVersion, kind string) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		UID: uid, Labels: map[string]string{criticalv2.LabelFallbackFor: "web"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "web", Controller: new(true)}},
	}}
}

// The operator must give the same answer: it is down without a ready endpoint of the
// application.
func TestEndpointsBehindAService(t *testing.T) {
	notReady := func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Ready = new(false) }
	ours := func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelManagedBy] = criticalv2.ManagedBy }
	withoutPorts := func(s *discoveryv1.EndpointSlice) { s.Ports = nil }
	otherPort := func(s *discoveryv1.EndpointSlice) { s.Ports[0].Name = new("admin") }
	headless := &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}
	type list = []discoveryv1.EndpointSlice
	for name, test := range map[string]struct {
		service    *corev1.Service
		slices     list
		ready, all int
		fallbacks  int
	}{
		"none": {},
		"a Pod whose condition is not set is ready":              {slices: list{slice("a", "10.0.0.1")}, ready: 1, all: 1},
		"a Pod that is not ready":                                {slices: list{slice("a", "10.0.0.1", notReady)}, all: 1},
		"a standby is never the application's":                   {slices: list{slice("a", "10.0.0.1", ours)}, fallbacks: 1},
		"nor is a fallback Pod that the Service selects":         {slices: list{slice("ours", "10.0.0.1")}, fallbacks: 1},
		"an application's Pod stays its own with a copied label": {slices: list{slice("copied", "10.0.0.1")}, ready: 1, all: 1},
		"a Pod with two ports is one":                            {slices: list{slice("a", "10.0.0.1"), slice("a", "10.0.0.1", notReady)}, ready: 1, all: 1},
		"a Pod with two families is one":                         {slices: list{slice("a", "10.0.0.1"), slice("a", "fd00::1")}, ready: 1, all: 1},
		"a Pod that lacks the named port answers nothing":        {slices: list{slice("a", "10.0.0.1", withoutPorts)}},
		"nor does one with ports of other names only":            {slices: list{slice("a", "10.0.0.1", otherPort)}},
		"a headless Service needs no ports":                      {service: headless, slices: list{slice("a", "10.0.0.1", withoutPorts)}, ready: 1, all: 1},
		"host names are for DNS only":                            {slices: list{slice("a", "example.com", func(s *discoveryv1.EndpointSlice) { s.AddressType = discoveryv1.AddressTypeFQDN })}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			service := test.service
			if service == nil {
				service = &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
			}
			pods := []corev1.Pod{pod("ours", "mycrd.com/v2", "CriticalService"), pod("copied", "apps/v1", "ReplicaSet")}
			found := Of(service, test.slices, pods)
			ready, all := Count(found, Application)
			g.Expect([]int{ready, all}).To(Equal([]int{test.ready, test.all}))
			_, fallbacks := Count(found, Fallback)
			g.Expect(fallbacks).To(Equal(test.fallbacks))
			isDown := len(protection.OwnReady(service, test.slices, protection.OursAmong(pods))) == 0
			g.Expect(isDown).To(Equal(ready == 0), "the operator's answer")
		})
	}
}
