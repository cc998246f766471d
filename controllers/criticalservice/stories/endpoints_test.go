package stories_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func endpoint(conditions discoveryv1.EndpointConditions) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses: []string{"10.2.0.1"}, Conditions: conditions,
		TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "web-1", UID: "web-1"},
	}
}

var (
	ready   = discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)}
	unready = discoveryv1.EndpointConditions{Ready: new(false), Serving: new(false), Terminating: new(false)}
)

// with is a slice that lists one endpoint.
func with(conditions discoveryv1.EndpointConditions, changes ...func(*discoveryv1.EndpointSlice)) func(*discoveryv1.EndpointSlice) {
	return func(s *discoveryv1.EndpointSlice) {
		s.Endpoints = []discoveryv1.Endpoint{endpoint(conditions)}
		for _, change := range changes {
			change(s)
		}
	}
}

func TestAServiceIsDownWhenNoEndpointOfItsOwnIsReady(t *testing.T) {
	t.Parallel()
	empty := func(*discoveryv1.EndpointSlice) {}
	secure := corev1.ServicePort{Name: "https", Port: 443, TargetPort: portNumber(8443)}
	for name, test := range map[string]struct {
		service func(*corev1.Service)
		slices  []func(*discoveryv1.EndpointSlice)
		isDown  bool
	}{
		"its only slice is empty": {
			slices: []func(*discoveryv1.EndpointSlice){empty}, isDown: true,
		},
		"all of its slices are empty": {
			slices: []func(*discoveryv1.EndpointSlice){empty, empty, empty}, isDown: true,
		},
		"its endpoint is not ready": {
			slices: []func(*discoveryv1.EndpointSlice){with(unready)}, isDown: true,
		},
		"its endpoint still serves, but ends": {
			slices: []func(*discoveryv1.EndpointSlice){with(discoveryv1.EndpointConditions{
				Ready: new(false), Serving: new(true), Terminating: new(true),
			})}, isDown: true,
		},
		"its endpoint is ready": {
			slices: []func(*discoveryv1.EndpointSlice){with(ready)},
		},
		"its endpoint does not say whether it is ready": {
			slices: []func(*discoveryv1.EndpointSlice){with(discoveryv1.EndpointConditions{})},
		},
		"only the last of its slices has a ready endpoint": {
			slices: []func(*discoveryv1.EndpointSlice){empty, with(unready), with(ready)},
		},
		"its endpoint is no Pod": {
			slices: []func(*discoveryv1.EndpointSlice){with(ready, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].TargetRef = nil })},
		},
		"its endpoint is published by another controller": {
			slices: []func(*discoveryv1.EndpointSlice){empty, with(ready, func(s *discoveryv1.EndpointSlice) {
				s.Labels[discoveryv1.LabelManagedBy] = "mesh.example.com"
			})},
		},
		"its IPv4 slice is empty and its IPv6 slice is not": {
			slices: []func(*discoveryv1.EndpointSlice){empty, with(ready, func(s *discoveryv1.EndpointSlice) {
				s.AddressType = discoveryv1.AddressTypeIPv6
				s.Endpoints[0].Addresses = []string{"fd00::1"}
			})},
		},
		"only a slice of host names, which nothing routes to, is ready": {
			slices: []func(*discoveryv1.EndpointSlice){empty, with(ready, func(s *discoveryv1.EndpointSlice) {
				s.AddressType = discoveryv1.AddressTypeFQDN
				s.Endpoints[0].Addresses = []string{"web.example.com"}
			})}, isDown: true,
		},
		"its ready endpoint has none of its ports": {
			slices: []func(*discoveryv1.EndpointSlice){with(ready, func(s *discoveryv1.EndpointSlice) { s.Ports = nil })}, isDown: true,
		},
		"its ready endpoint has a port of another name": {
			slices: []func(*discoveryv1.EndpointSlice){with(ready, func(s *discoveryv1.EndpointSlice) { s.Ports[0].Name = new("admin") })}, isDown: true,
		},
		"one of its two ports answers": {
			service: func(s *corev1.Service) { s.Spec.Ports = append(s.Spec.Ports, secure) },
			slices:  []func(*discoveryv1.EndpointSlice){with(ready)},
		},
		"its two ports are in two slices, and both are not ready": {
			service: func(s *corev1.Service) { s.Spec.Ports = append(s.Spec.Ports, secure) },
			slices: []func(*discoveryv1.EndpointSlice){with(unready), with(unready, func(s *discoveryv1.EndpointSlice) {
				s.Ports[0].Name, s.Ports[0].Port = new("https"), new(int32(8443))
			})}, isDown: true,
		},
		"it publishes addresses that are not ready, and has one": {
			service: func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true },
			slices: []func(*discoveryv1.EndpointSlice){with(discoveryv1.EndpointConditions{
				Ready: new(true), Serving: new(false), Terminating: new(false),
			})},
		},
		"it publishes addresses that are not ready, and has none": {
			service: func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true },
			slices:  []func(*discoveryv1.EndpointSlice){empty}, isDown: true,
		},
		"it is headless and has a ready endpoint": {
			service: func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone },
			slices:  []func(*discoveryv1.EndpointSlice){with(ready)},
		},
		"it is headless and has none": {
			service: func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone },
			slices:  []func(*discoveryv1.EndpointSlice){empty}, isDown: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := sideBySide(t)
			policy := w.policy("shop")
			// The slices come first, so that the operator never sees but a part of them.
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "web"}}
			for i, change := range test.slices {
				w.Slice(service, string(rune('a'+i)), change)
			}
			w.Slice(w.Service("other"), "slice", with(ready))
			w.critical("web", func(s *corev1.Service) {
				if test.service != nil {
					test.service(s)
				}
			})
			if test.isDown {
				w.fallback(service)
				w.Eventually(w.conditionOf(policy, "Outage")).Should(Equal("True/Exposed"))
				return
			}
			w.Eventually(w.conditionOf(policy, "Outage")).Should(Equal("False/NoOutage"))
			w.settle()
			w.Expect(w.fallbacks(service)).To(BeEmpty())
		})
	}
}

func TestAServiceWithoutAnySliceIsNotYetKnownToBeDown(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	service := w.critical("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Arming/EndpointsUnknown"))
	w.settle()
	w.Expect(w.fallbacks(service)).To(BeEmpty())

	w.Slice(service, "first")
	w.fallback(service)
}

// Where the Service publishes addresses that are not ready, `ready` says nothing
// of the fallback.
func TestAFallbackThatIsPublishedBeforeItServesDoesNotCover(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	service := w.down("web", func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true })
	fallback := w.fallback(service)

	w.MakeUnready(fallback)
	w.look(service, func() { w.PublishEndpoints(service) })
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Exposed/FallbackStarting"))
	w.answer(service, fallback)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.settle()
	w.Expect(w.fallback(service).UID).To(Equal(fallback.UID))
}
