package endpoints

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
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

func TestWhoStandsBehindAService(t *testing.T) {
	notReady := func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Ready = new(false) }
	ours := func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelManagedBy] = criticalv2.ManagedBy }
	withoutPorts := func(s *discoveryv1.EndpointSlice) { s.Ports = nil }
	headless := func(s *discoveryv1.EndpointSlice) { s.Labels[corev1.IsHeadlessService] = "" }
	type list = []discoveryv1.EndpointSlice
	fallback := corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "ours"}}
	for name, test := range map[string]struct {
		slices     list
		ready, all int
		fallbacks  int
	}{
		"nobody": {},
		"a Pod whose condition is not set is ready":       {slices: list{slice("a", "10.0.0.1")}, ready: 1, all: 1},
		"a Pod that is not ready":                         {slices: list{slice("a", "10.0.0.1", notReady)}, all: 1},
		"a standby is never the application's":            {slices: list{slice("a", "10.0.0.1", ours)}, fallbacks: 1},
		"nor is a fallback Pod that the Service selects":  {slices: list{slice("ours", "10.0.0.1")}, fallbacks: 1},
		"a Pod with two ports is one":                     {slices: list{slice("a", "10.0.0.1"), slice("a", "10.0.0.1", notReady)}, ready: 1, all: 1},
		"a Pod with two families is one":                  {slices: list{slice("a", "10.0.0.1"), slice("a", "fd00::1")}, ready: 1, all: 1},
		"a Pod that lacks the named port answers nothing": {slices: list{slice("a", "10.0.0.1", withoutPorts)}},
		"a headless Service needs no ports":               {slices: list{slice("a", "10.0.0.1", withoutPorts, headless)}, ready: 1, all: 1},
		"names are for DNS only":                          {slices: list{slice("a", "example.com", func(s *discoveryv1.EndpointSlice) { s.AddressType = discoveryv1.AddressTypeFQDN })}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := Of(test.slices, []corev1.Pod{fallback})
			ready, all := Count(found, Application)
			g.Expect([]int{ready, all}).To(Equal([]int{test.ready, test.all}))
			_, fallbacks := Count(found, Fallback)
			g.Expect(fallbacks).To(Equal(test.fallbacks))
		})
	}
}
