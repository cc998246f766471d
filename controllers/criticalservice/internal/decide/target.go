package decide

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
)

// target is what the standby slices can publish at the moment.
type target struct {
	ports     []discoveryv1.EndpointPort
	endpoints map[discoveryv1.AddressType][]discoveryv1.Endpoint
}

// targetOf is what can answer for the Service now, and what is known of its source.
func targetOf(f *facts, want choice) (target, backupFacts, podFacts) {
	switch want.kind {
	case criticalv2.FallbackKindPage:
		return pageTarget(f), backupFacts{}, podFacts{}
	case criticalv2.FallbackKindPodTemplate:
		return podTarget(f), backupFacts{}, podFactsOf(f, want.pod)
	case criticalv2.FallbackKindService:
		backup := backupOf(f, want.backup)
		return backup.target, backup, podFacts{}
	default:
		return target{}, backupFacts{}, podFacts{}
	}
}

// addPod adds the addresses of a Pod.
func (t *target) addPod(pod *corev1.Pod) {
	for family, endpoint := range render.PodEndpoints(pod) {
		t.add(family, endpoint)
	}
}

func (t *target) add(family discoveryv1.AddressType, endpoint discoveryv1.Endpoint) {
	if t.endpoints == nil {
		t.endpoints = map[discoveryv1.AddressType][]discoveryv1.Endpoint{}
	}
	t.endpoints[family] = append(t.endpoints[family], endpoint)
}

// size is how many addresses there are.
func (t *target) size() int {
	n := 0
	for _, endpoints := range t.endpoints {
		n += len(endpoints)
	}
	return n
}

func (t *target) isEmpty() bool { return t.size() == 0 }
