package decide_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/decide"
)

func TestTheReadinessGateOpens(t *testing.T) {
	isOpen := condition(criticalv2.ConditionPublished, corev1.ConditionTrue)
	web, api, webIPv6 := slice("web", "ipv4"), slice("api", "ipv4"), slice("web", "ipv6")
	ends := func(s *discoveryv1.EndpointSlice) { s.DeletionTimestamp = &metav1.Time{} }
	tests := map[string]struct {
		world decide.Snapshot
		want  []string
	}{
		"of all Pods, where none is published": {
			world: snapshot(responderPod("one", 1), responderPod("two", 2)), want: []string{"one", "two"},
		},
		"of a Pod that is published wherever another is": {
			world: snapshot(responderPod("old", 1, isOpen), responderPod("new", 2),
				web, api, podSlice("web", "old", 1), podSlice("web", "new", 2), podSlice("api", "old", 1), podSlice("api", "new", 2)),
			want: []string{"new"},
		},
		"not while one Service lacks it": {
			world: snapshot(responderPod("old", 1, isOpen), responderPod("new", 2),
				web, api, podSlice("web", "old", 1), podSlice("web", "new", 2), podSlice("api", "old", 1)),
		},
		"not of the first that is published, while another is published elsewhere": {
			world: snapshot(responderPod("one", 1), responderPod("two", 2), web, api, podSlice("web", "one", 1), podSlice("api", "two", 2)),
		},
		"by a request slice, as an older operator published it": {
			world: snapshot(responderPod("old", 1, isOpen), responderPod("new", 2),
				slice("web", "ipv4", lists("old", 1), lists("new", 2))),
			want: []string{"new"},
		},
		"not while a request slice lists only the older Pod": {
			world: snapshot(responderPod("old", 1, isOpen), responderPod("new", 2), slice("web", "ipv4", lists("old", 1))),
		},
		"by slices of both kinds": {
			world: snapshot(responderPod("old", 1, isOpen), responderPod("new", 2), slice("web", "ipv4", lists("old", 1)), podSlice("web", "new", 2)),
			want:  []string{"new"},
		},
		"not under an address that the Pod had before": {
			world: snapshot(responderPod("old", 1, isOpen), responderPod("new", 2), web, podSlice("web", "old", 1), podSlice("web", "new", 9)),
		},
		"though a Pod that is gone is still listed": {
			world: snapshot(responderPod("new", 2), web, podSlice("web", "gone", 1)), want: []string{"new"},
		},
		"for a family that the Pod has no address of": {
			world: snapshot(responderPod("old", 1, isOpen, func(p *corev1.Pod) { p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: "fd00::1"}) }),
				responderPod("new", 2), web, webIPv6, podSlice("web", "old", 1), podSlice("web", "new", 2),
				podSlice("web", "old", 1, func(s *discoveryv1.EndpointSlice) {
					s.AddressType, s.Endpoints[0].Addresses = discoveryv1.AddressTypeIPv6, []string{"fd00::1"}
				})),
			want: []string{"new"},
		},
		"not while the slice of one family lacks it": {
			world: snapshot(
				responderPod("old", 1, isOpen, func(p *corev1.Pod) { p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: "fd00::1"}) }),
				responderPod("new", 2, func(p *corev1.Pod) { p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: "fd00::2"}) }),
				web, webIPv6, podSlice("web", "old", 1), podSlice("web", "new", 2),
				podSlice("web", "old", 1, func(s *discoveryv1.EndpointSlice) {
					s.AddressType, s.Endpoints[0].Addresses = discoveryv1.AddressTypeIPv6, []string{"fd00::1"}
				})),
		},
		"though a slice that ends lists only the older Pod": {
			world: snapshot(responderPod("old", 1, isOpen), responderPod("new", 2), web, podSlice("web", "old", 1, ends)), want: []string{"new"},
		},
		"not by a slice that ends": {
			world: snapshot(responderPod("old", 1, isOpen), responderPod("new", 2), web, podSlice("web", "old", 1), podSlice("web", "new", 2, ends)),
		},
		"though the older Pod is published for a Service that asks no more": {
			world: snapshot(responderPod("old", 1, isOpen), responderPod("new", 2), web, podSlice("web", "new", 2), podSlice("api", "old", 1)),
			want:  []string{"new"},
		},
		"though the older Pod is published for a Service whose request ends": {
			world: snapshot(responderPod("old", 1, isOpen), responderPod("new", 2), slice("web", "ipv4", ends), podSlice("web", "old", 1)),
			want:  []string{"new"},
		},
		"though the older Pod is published in a family that the Service does not ask for": {
			world: snapshot(responderPod("old", 1, isOpen), responderPod("new", 2), webIPv6, podSlice("web", "old", 1)), want: []string{"new"},
		},
		"not before the containers are ready": {
			world: snapshot(responderPod("one", 1, condition(corev1.ContainersReady, corev1.ConditionFalse))),
		},
		"not of a Pod that ends": {
			world: snapshot(responderPod("one", 1, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} })),
		},
		"not of a Pod that has none": {
			world: snapshot(responderPod("one", 1, func(p *corev1.Pod) { p.Spec.ReadinessGates = nil })),
		},
		"not of another controller's Pod": {
			world: snapshot(responderPod("one", 1, func(p *corev1.Pod) {
				p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-1", Controller: new(true)}}
			})),
		},
		"once": {world: snapshot(responderPod("one", 1, isOpen))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, pod := range decide.Decide(test.world).Published {
				got = append(got, pod.Name)
			}
			NewWithT(t).Expect(got).To(Equal(test.want))
		})
	}
}

// A Pod is never published for a Service of which it has no listener, so that its gate
// does not wait for that.
func TestTheReadinessGateWaitsOnlyWhereThePodHasListeners(t *testing.T) {
	listensOn := func(ports string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Annotations = map[string]string{criticalv2.AnnotationListeners: ports} }
	}
	isOpen := condition(criticalv2.ConditionPublished, corev1.ConditionTrue)
	for name, test := range map[string]struct {
		service, ports string
		opens          bool
	}{
		"it has that of the Service":    {service: "web", ports: "20000-20063"},
		"it listens elsewhere":          {service: "web", ports: "20064-20127", opens: true},
		"it says nothing of the kind":   {service: "web", ports: "", opens: true},
		"the Service has none":          {service: "udp", ports: "20000-20063", opens: true},
		"there is no Service to listen": {service: "gone", ports: "20000-20063", opens: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			udp := corev1.ServicePort{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}
			s := settled(g, snapshot(critical("web", port("http", 80)), critical("udp", udp), slice("gone", "ipv4")))
			responderPod("old", 1, isOpen, listensOn("20000-20063"))(&s)
			responderPod("new", 2, listensOn(test.ports))(&s)
			podSlice(test.service, "old", 1)(&s)
			if test.opens {
				g.Expect(decide.Decide(s).Published).To(HaveLen(1))
			} else {
				g.Expect(decide.Decide(s).Published).To(BeEmpty())
			}
		})
	}
}

// What publishes a Pod asks for nothing: neither for the responder nor for a page.
func TestSlicesOfPodsAskForNothing(t *testing.T) {
	g := NewWithT(t)
	s := snapshot(critical("web", port("http", 80)), service("other", port("http", 80)))
	s = settled(g, s)
	podSlice("web", "one", 1, publishes("http", 20000))(&s)
	podSlice("other", "one", 1, page(criticalv2.PageFallback{Replicas: new(int32(5))}), func(s *discoveryv1.EndpointSlice) {
		s.Annotations[criticalv2.AnnotationMaintenance] = `{"message":"Soon."}`
	})(&s)
	g.Expect(decide.Decide(s)).To(Satisfy(idle))

	s.Slices = nil
	g.Expect(decide.Decide(s).Remove).To(BeTrue())
}
