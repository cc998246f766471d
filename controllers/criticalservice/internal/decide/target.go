package decide

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// target is what the standby slices can publish at the moment.
type target struct {
	// pods are the Pods that can answer, each with the ports on which it listens.
	pods []podTarget
	// ports and endpoints are those of a backup Service.
	ports     []discoveryv1.EndpointPort
	endpoints map[discoveryv1.AddressType][]discoveryv1.Endpoint
}

// podTarget is a Pod that can answer.
type podTarget struct {
	pod   *corev1.Pod
	ports []discoveryv1.EndpointPort
}

// addPod adds a Pod. An endpoint without a port is a dead one.
func (t *target) addPod(pod *corev1.Pod, ports []discoveryv1.EndpointPort) {
	if len(ports) > 0 && len(pod.Status.PodIPs) > 0 {
		t.pods = append(t.pods, podTarget{pod: pod, ports: ports})
	}
}

// add adds an endpoint of a backup Service.
func (t *target) add(family discoveryv1.AddressType, endpoint discoveryv1.Endpoint) {
	if t.endpoints == nil {
		t.endpoints = map[discoveryv1.AddressType][]discoveryv1.Endpoint{}
	}
	t.endpoints[family] = append(t.endpoints[family], endpoint)
}

// size is how many endpoints of a backup Service there are.
func (t *target) size() int {
	n := 0
	for _, endpoints := range t.endpoints {
		n += len(endpoints)
	}
	return n
}

func (t *target) isEmpty() bool { return len(t.pods)+t.size() == 0 }
