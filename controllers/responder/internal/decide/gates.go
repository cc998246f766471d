package decide

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	netutils "k8s.io/utils/net"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
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
// any other Pod of the responder is, and they can be. An older Pod may go from then on,
// whether or not the operator is still there to publish another. A gate that has opened
// stays open.
func (s *Snapshot) opened() []*corev1.Pod {
	var opened []*corev1.Pod
	for i := range s.Pods {
		if WaitsForGate(&s.Pods[i]) {
			opened = append(opened, &s.Pods[i])
		}
	}
	if len(opened) == 0 {
		return nil
	}
	published, numbers := s.publishedPods(), s.numbers()
	opened = slices.DeleteFunc(opened, func(pod *corev1.Pod) bool { return !publishedAsOthers(pod, published, numbers) })
	slices.SortFunc(opened, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return opened
}

// publishedPods says of each Service and family that asks for the responder which Pods
// are published, so far as they exist, and under an address that they have now. A slice
// that ends counts for nothing: the operator cannot list a Pod in it, and a finalizer
// may keep it for ever.
func (s *Snapshot) publishedPods() map[wish]map[types.UID]bool {
	published := map[wish]map[types.UID]bool{}
	for i := range s.Slices {
		if s.Slices[i].DeletionTimestamp == nil {
			published[wishOf(&s.Slices[i])] = map[types.UID]bool{}
		}
	}
	pods := map[types.UID]*corev1.Pod{}
	for i := range s.Pods {
		pods[s.Pods[i].UID] = &s.Pods[i]
	}
	for _, some := range [][]discoveryv1.EndpointSlice{s.Slices, s.PodSlices} {
		for i := range some {
			uids, asks := published[wishOf(&some[i])]
			if !asks || some[i].DeletionTimestamp != nil {
				continue
			}
			for j := range some[i].Endpoints {
				if pod := pods[listed(&some[i].Endpoints[j])]; pod != nil && hasAddressOf(pod, &some[i].Endpoints[j]) {
					uids[pod.UID] = true
				}
			}
		}
	}
	return published
}

func wishOf(slice *discoveryv1.EndpointSlice) wish {
	return wish{slice.Labels[discoveryv1.LabelServiceName], slice.AddressType}
}

// numbers are those of the listeners of each Service; nil if they are not known.
func (s *Snapshot) numbers() map[string][]int32 {
	table, trusted := s.recorded()
	if s.Table == nil || !trusted {
		return nil
	}
	numbers := map[string][]int32{}
	for _, l := range table.Listeners {
		numbers[l.Service] = append(numbers[l.Service], l.Port)
	}
	return numbers
}

// publishedAsOthers reports whether a Pod is published wherever any is, so far as it
// has an address of the family and listeners of the Service: without, it never will be.
func publishedAsOthers(pod *corev1.Pod, published map[wish]map[types.UID]bool, numbers map[string][]int32) bool {
	for where, pods := range published {
		mayBe := hasFamily(pod, where.family) && (numbers == nil || listens(pod, numbers[where.service]))
		if mayBe && len(pods) > 0 && !pods[pod.UID] {
			return false
		}
	}
	return true
}

// listens reports whether a Pod has all listeners of a Service, and there are some.
func listens(pod *corev1.Pod, numbers []int32) bool {
	ports, err := listener.ParseRange(pod.Annotations[criticalv2.AnnotationListeners])
	return err == nil && len(numbers) > 0 && !slices.ContainsFunc(numbers, func(number int32) bool { return !ports.Contains(number) })
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
