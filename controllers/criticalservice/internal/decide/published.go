package decide

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
	"github.com/critical-service/operator/internal/protection"
)

// standby is the standby slice of a name; nil if there is none.
func (s *Snapshot) standby(name string) *discoveryv1.EndpointSlice {
	i := slices.IndexFunc(s.Standby, func(slice discoveryv1.EndpointSlice) bool { return slice.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Standby[i]
}

// request is the standby slice of one IP family that belongs to the CriticalService.
func (s *Snapshot) request(family discoveryv1.AddressType) *discoveryv1.EndpointSlice {
	return s.standby(render.SliceName(s.Service.Name, family))
}

// standbyEndpoints iterates over all endpoints that the operator publishes.
func (s *Snapshot) standbyEndpoints(yield func(*discoveryv1.Endpoint) bool) {
	for i := range s.Standby {
		for j := range s.Standby[i].Endpoints {
			if !yield(&s.Standby[i].Endpoints[j]) {
				return
			}
		}
	}
}

// lists reports whether a Pod is published in a standby slice.
func (s *Snapshot) lists(uid types.UID) bool {
	for endpoint := range s.standbyEndpoints {
		if endpoint.TargetRef != nil && endpoint.TargetRef.UID == uid {
			return true
		}
	}
	return false
}

// listsFallbackPod reports whether any fallback Pod is published.
func (s *Snapshot) listsFallbackPod() bool {
	return slices.ContainsFunc(s.Pods, func(pod corev1.Pod) bool { return s.lists(pod.UID) })
}

// standsWithoutPods reports whether something that is published answers, and no fallback
// Pod is published.
func (s *Snapshot) standsWithoutPods() bool {
	answers := false
	for endpoint := range s.standbyEndpoints {
		answers = answers || s.answers(endpoint)
	}
	return answers && !s.listsFallbackPod()
}

// isSelected reports whether a fallback Pod is a ready endpoint by its labels. For
// a Service that publishes addresses that are not ready, `ready` is always true:
// only `serving` says whether it serves.
func (s *Snapshot) isSelected(pod *corev1.Pod) bool {
	for endpoint := range protection.Ready(s.Service, s.Slices) {
		if ref := endpoint.TargetRef; ref != nil && ref.UID == pod.UID && ptr.Deref(endpoint.Conditions.Serving, true) {
			return true
		}
	}
	return false
}

// serves reports whether a fallback Pod is an endpoint of the Service, and really
// serves: published by the operator, or a ready one by its labels.
func (s *Snapshot) serves(pod *corev1.Pod) bool {
	return protection.CanAnswer(pod) && s.lists(pod.UID) || s.isSelected(pod)
}

// podOf is the Pod of ours that a published endpoint is; nil if it is none.
func (s *Snapshot) podOf(endpoint *discoveryv1.Endpoint) *corev1.Pod {
	if endpoint.TargetRef == nil {
		return nil
	}
	for _, pods := range [][]corev1.Pod{s.Pods, s.Responder.Pods} {
		for i := range pods {
			if pods[i].UID == endpoint.TargetRef.UID {
				return &pods[i]
			}
		}
	}
	return nil
}

// answers reports whether a published endpoint answers: it is a Pod of ours that can
// and has the address now, or a ready endpoint of a backup Service.
func (s *Snapshot) answers(endpoint *discoveryv1.Endpoint) bool {
	if len(endpoint.Addresses) == 0 || endpoint.TargetRef == nil {
		return false
	}
	if pod := s.podOf(endpoint); pod != nil {
		return protection.CanAnswer(pod) && protection.HasAddress(pod, endpoint.Addresses[0])
	}
	for _, backup := range s.Backups {
		for i := range backup.Slices {
			for _, of := range backup.Slices[i].Endpoints {
				same := of.TargetRef != nil && of.TargetRef.UID == endpoint.TargetRef.UID && slices.Contains(of.Addresses, endpoint.Addresses[0])
				if same && isDependable(of.Conditions) {
					return true
				}
			}
		}
	}
	return false
}

// isPromoted reports whether a standby slice has a ready endpoint.
func (s *Snapshot) isPromoted() bool {
	return slices.ContainsFunc(s.Standby, func(slice discoveryv1.EndpointSlice) bool { return protection.IsPromoted(&slice) })
}

// answerer names what is published, and the fallback Pods that the Service selects.
func (s *Snapshot) answerer() string {
	var names []string
	for i := range s.Pods {
		if s.isSelected(&s.Pods[i]) {
			names = append(names, s.Pods[i].Name)
		}
	}
	for endpoint := range s.standbyEndpoints {
		if endpoint.TargetRef != nil && !slices.Contains(names, endpoint.TargetRef.Name) {
			names = append(names, endpoint.TargetRef.Name)
		}
	}
	slices.Sort(names)
	switch len(names) {
	case 0:
		return "the standby"
	case 1:
		return fmt.Sprintf("Pod %q", names[0])
	default:
		return fmt.Sprintf("Pod %q (and %d more)", names[0], len(names)-1)
	}
}
