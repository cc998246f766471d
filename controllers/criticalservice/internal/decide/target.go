package decide

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
)

// target is what the standby slices can publish at the moment.
type target struct {
	ports     []discoveryv1.EndpointPort
	endpoints map[discoveryv1.AddressType][]discoveryv1.Endpoint
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
