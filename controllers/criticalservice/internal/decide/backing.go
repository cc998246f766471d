package decide

import (
	"slices"

	"github.com/critical-service/operator/internal/protection"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
	"github.com/critical-service/operator/internal/contract/listener"
)

// backing is what a standby slice can publish at the moment.
type backing struct {
	ports     []discoveryv1.EndpointPort
	endpoints map[discoveryv1.AddressType][]discoveryv1.Endpoint
	// reason and message say what is missing; empty if nothing is.
	reason, message string
}

func (b *backing) isEmpty() bool {
	for _, endpoints := range b.endpoints {
		if len(endpoints) > 0 {
			return false
		}
	}
	return true
}

func (b *backing) add(pod *corev1.Pod) {
	if b.endpoints == nil {
		b.endpoints = map[discoveryv1.AddressType][]discoveryv1.Endpoint{}
	}
	for family, endpoint := range render.PodEndpoints(pod) {
		b.endpoints[family] = append(b.endpoints[family], endpoint)
	}
}

// backing finds what can answer for the Service.
func (s *Snapshot) backing(c choice) backing {
	switch c.kind {
	case criticalv2.FallbackKindPage:
		return s.pageBacking()
	case criticalv2.FallbackKindPodTemplate:
		return s.podBacking()
	case criticalv2.FallbackKindService:
		return s.serviceBacking(c.backup)
	default:
		return backing{reason: c.reason, message: c.message}
	}
}

// pageBacking is the responder of the namespace: its Pods that are ready, and so
// listen on every port of their range. The responder answers TCP only.
func (s *Snapshot) pageBacking() backing {
	var b backing
	var numbers []int32
	for _, port := range s.Service.Spec.Ports {
		if !protection.IsTCP(port) {
			continue
		}
		number, assigned := int32(0), false
		if s.Responder.Table != nil {
			number, assigned = s.Responder.Table.Find(s.Service.Name, port.Name)
		}
		if !assigned {
			b.reason, b.message = s.responderTrouble()
			continue
		}
		numbers = append(numbers, number)
		b.ports = append(b.ports, render.EndpointPort(port, number))
	}
	for _, pod := range preferred(s.Responder.Pods) {
		if listens(pod, numbers) {
			b.add(pod)
		}
	}
	if b.isEmpty() {
		b.reason, b.message = s.responderTrouble()
	}
	return b
}

// preferred are the ready Pods that stay, or else those that are ready and about
// to end: something that answers for a moment longer is better than nothing.
func preferred(pods []corev1.Pod) []*corev1.Pod {
	var staying, ending []*corev1.Pod
	for i := range pods {
		switch pod := &pods[i]; {
		case !isReady(pod) || hasEnded(pod):
		case pod.DeletionTimestamp == nil:
			staying = append(staying, pod)
		default:
			ending = append(ending, pod)
		}
	}
	if len(staying) > 0 {
		return staying
	}
	return ending
}

func listens(pod *corev1.Pod, numbers []int32) bool {
	ports, err := listener.ParseRange(pod.Annotations[criticalv2.AnnotationListeners])
	return err == nil && len(numbers) > 0 && !slices.ContainsFunc(numbers, func(n int32) bool { return !ports.Contains(n) })
}

// podBacking is the fallback Pod, on the ports where it really listens.
func (s *Snapshot) podBacking() backing {
	var b backing
	ready := preferred(s.Pods)
	if len(ready) > 0 {
		b.ports, _ = render.PodPorts(s.Service, &ready[0].Spec)
	}
	if len(b.ports) == 0 {
		return backing{} // An endpoint without a port is a dead one.
	}
	for _, pod := range ready {
		b.add(pod)
	}
	return b
}

// isOurs tells whether a Pod is a fallback or a responder.
func (s *Snapshot) isOurs(uid types.UID) bool {
	return s.knows(uid) || slices.Contains(s.Strangers, uid)
}
