package decide

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	netutils "k8s.io/utils/net"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
)

// wish is a Service and an IP family in which the responder is published.
type wish struct {
	service string
	family  discoveryv1.AddressType
}

// WaitsForGate reports whether a Pod of the responder could be ready, but for its
// readiness gate.
func WaitsForGate(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && protection.IsResponder(pod) && !protection.IsPublished(pod) &&
		protection.PodCondition(pod, corev1.ContainersReady).Status == corev1.ConditionTrue &&
		slices.ContainsFunc(pod.Spec.ReadinessGates, func(gate corev1.PodReadinessGate) bool {
			return gate.ConditionType == criticalv2.ConditionPublished
		})
}

// opened are the Pods whose readiness gate opens: those that are published wherever
// any other Pod of the responder is. An older Pod may go from then on, whether or not
// the operator is still there to publish another. A gate that has opened stays open.
func (s *Snapshot) opened() []*corev1.Pod {
	published := s.publishedPods()
	var opened []*corev1.Pod
	for i := range s.Pods {
		if pod := &s.Pods[i]; WaitsForGate(pod) && publishedAsOthers(pod, published) {
			opened = append(opened, pod)
		}
	}
	slices.SortFunc(opened, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return opened
}

// publishedPods says of each Service and family which Pods are published, so far as
// they exist, and under an address that they have now.
func (s *Snapshot) publishedPods() map[wish]map[types.UID]bool {
	pods := map[types.UID]*corev1.Pod{}
	for i := range s.Pods {
		pods[s.Pods[i].UID] = &s.Pods[i]
	}
	published := map[wish]map[types.UID]bool{}
	for _, some := range [][]discoveryv1.EndpointSlice{s.Slices, s.PodSlices} {
		for i := range some {
			where := wish{some[i].Labels[discoveryv1.LabelServiceName], some[i].AddressType}
			for j := range some[i].Endpoints {
				pod := pods[listed(&some[i].Endpoints[j])]
				if pod == nil || !hasAddressOf(pod, &some[i].Endpoints[j]) {
					continue
				}
				if published[where] == nil {
					published[where] = map[types.UID]bool{}
				}
				published[where][pod.UID] = true
			}
		}
	}
	return published
}

// publishedAsOthers reports whether a Pod is published in every slice that could have it.
func publishedAsOthers(pod *corev1.Pod, published map[wish]map[types.UID]bool) bool {
	for where, pods := range published {
		if hasFamily(pod, where.family) && !pods[pod.UID] {
			return false
		}
	}
	return true
}

func listed(endpoint *discoveryv1.Endpoint) types.UID {
	if endpoint.TargetRef == nil {
		return ""
	}
	return endpoint.TargetRef.UID
}

func hasAddressOf(pod *corev1.Pod, endpoint *discoveryv1.Endpoint) bool {
	return slices.ContainsFunc(endpoint.Addresses, func(address string) bool { return protection.HasAddress(pod, address) })
}

func hasFamily(pod *corev1.Pod, family discoveryv1.AddressType) bool {
	return slices.ContainsFunc(pod.Status.PodIPs, func(ip corev1.PodIP) bool {
		return netutils.IsIPv6String(ip.IP) == (family == discoveryv1.AddressTypeIPv6)
	})
}
