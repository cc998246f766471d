package decide

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// OwnReady lists the ready endpoints that are the Service's own, over all of
// its slices. A Service without one is down.
//
// "Ready" is the endpoint's condition, as kube-proxy reads it, and not that of
// a Pod: a Service that publishes addresses that are not ready wants them used.
func (s *Snapshot) OwnReady() []discoveryv1.Endpoint {
	var own []discoveryv1.Endpoint
	s.eachReady(func(endpoint *discoveryv1.Endpoint) {
		if !s.isFallback(endpoint) {
			own = append(own, *endpoint)
		}
	})
	return own
}

// serves tells whether a fallback Pod is an endpoint of the Service, and really
// serves: published by the operator, or a ready one by its labels. For a Service
// that publishes addresses that are not ready, `ready` is always true and only
// `serving` tells.
func (s *Snapshot) serves(pod *corev1.Pod) bool {
	return isReady(pod) && s.lists(pod.UID) || s.isSelected(pod)
}

// isSelected tells whether a fallback Pod is a ready endpoint by its labels.
func (s *Snapshot) isSelected(pod *corev1.Pod) bool {
	found := false
	s.eachReady(func(endpoint *discoveryv1.Endpoint) {
		if ref := endpoint.TargetRef; ref != nil && ref.UID == pod.UID && ptr.Deref(endpoint.Conditions.Serving, true) {
			found = true
		}
	})
	return found
}

// eachReady calls f with every endpoint to which the Service's traffic may go
// now. A nil `ready` means true (discovery.k8s.io/v1 EndpointConditions).
func (s *Snapshot) eachReady(f func(*discoveryv1.Endpoint)) {
	for i := range s.Slices {
		slice := &s.Slices[i]
		if !s.carriesTraffic(slice) {
			continue
		}
		for j := range slice.Endpoints {
			if endpoint := &slice.Endpoints[j]; ptr.Deref(endpoint.Conditions.Ready, true) {
				f(endpoint)
			}
		}
	}
}

// carriesTraffic tells whether a slice serves a port of the Service. A Pod that
// lacks the named target port is listed in a slice without that port: such an
// endpoint is ready, and answers nothing. kube-proxy reads no FQDN slices.
func (s *Snapshot) carriesTraffic(slice *discoveryv1.EndpointSlice) bool {
	if slice.AddressType == discoveryv1.AddressTypeFQDN {
		return false
	}
	if len(s.Service.Spec.Ports) == 0 {
		return true
	}
	return slices.ContainsFunc(slice.Ports, func(published discoveryv1.EndpointPort) bool {
		return published.Port != nil && slices.ContainsFunc(s.Service.Spec.Ports, func(port corev1.ServicePort) bool {
			return port.Name == ptr.Deref(published.Name, "")
		})
	})
}

// isFallback tells whether an endpoint is a fallback Pod of ours: one that is
// known, made for this Service or for another whose selector overlaps, or one with the fallback's name, which a slice may list for a while
// after the Pod has gone. Only a namesake that was looked up and is somebody
// else's Pod is not ours.
func (s *Snapshot) isFallback(endpoint *discoveryv1.Endpoint) bool {
	ref := endpoint.TargetRef
	if ref == nil || ref.Kind != "Pod" {
		return false
	}
	if s.knows(ref.UID) || slices.Contains(s.Strangers, ref.UID) {
		return true
	}
	if ref.Name != s.PodName() {
		return false
	}
	return s.Namesake == nil || s.Namesake.UID != ref.UID
}

// Namesakes tells whether a slice lists a Pod that has the fallback's name and
// is not among the known fallbacks, so that it must be looked up.
func (s *Snapshot) Namesakes() bool {
	for _, slice := range s.Slices {
		for _, endpoint := range slice.Endpoints {
			ref := endpoint.TargetRef
			if ref != nil && ref.Kind == "Pod" && ref.Name == s.PodName() && !s.knows(ref.UID) {
				return true
			}
		}
	}
	return false
}

func (s *Snapshot) knows(uid types.UID) bool {
	return slices.ContainsFunc(s.Pods, func(pod corev1.Pod) bool { return pod.UID == uid })
}
