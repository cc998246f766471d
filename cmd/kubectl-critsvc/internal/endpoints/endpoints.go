// Package endpoints tells who stands behind a Service: the application, or the
// fallback.
package endpoints

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Source is whose an endpoint is.
type Source string

const (
	// Application is the Service's own.
	Application Source = "application"
	// Fallback is the operator's: published in a standby slice, or a fallback Pod
	// that the Service selects by its labels.
	Fallback Source = "fallback"
)

// Endpoint is one address behind a Service.
type Endpoint struct {
	// Address is its IP address.
	Address string `json:"address"`
	// Source is whose it is.
	Source Source `json:"source"`
	// Ready, Serving and Terminating are its conditions, as proxies read them.
	Ready       bool `json:"ready"`
	Serving     bool `json:"serving"`
	Terminating bool `json:"terminating"`
	// Pod and Node are where it runs, as far as its slice says.
	Pod  string `json:"pod,omitempty"`
	Node string `json:"node,omitempty"`
}

// IsStandby tells whether a slice is one that the operator publishes.
func IsStandby(slice *discoveryv1.EndpointSlice) bool {
	return slice.Labels[discoveryv1.LabelManagedBy] == criticalv2.ManagedBy
}

// Of are the endpoints in the slices of one Service, the application's first.
// Fallbacks are the fallback Pods of its namespace. An address that several slices
// list, for several ports, is one endpoint.
func Of(list []discoveryv1.EndpointSlice, fallbacks []corev1.Pod) []Endpoint {
	ours := map[types.UID]bool{}
	for i := range fallbacks {
		ours[fallbacks[i].UID] = true
	}
	var found []Endpoint
	for i := range list {
		slice := &list[i]
		if !carriesTraffic(slice) {
			continue
		}
		for j := range slice.Endpoints {
			for _, address := range slice.Endpoints[j].Addresses {
				found = merged(found, endpointOf(address, slice, &slice.Endpoints[j], ours))
			}
		}
	}
	slices.SortFunc(found, func(a, b Endpoint) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Address, b.Address))
	})
	return found
}

func endpointOf(address string, slice *discoveryv1.EndpointSlice, endpoint *discoveryv1.Endpoint, ours map[types.UID]bool) Endpoint {
	// What a nil condition means stands in discovery.k8s.io/v1 EndpointConditions.
	ready := ptr.Deref(endpoint.Conditions.Ready, true)
	result := Endpoint{
		Address: address, Source: Application,
		Ready: ready, Serving: ptr.Deref(endpoint.Conditions.Serving, ready),
		Terminating: ptr.Deref(endpoint.Conditions.Terminating, false), Node: ptr.Deref(endpoint.NodeName, ""),
	}
	if ref := endpoint.TargetRef; ref != nil && ref.Kind == "Pod" {
		result.Pod = ref.Name
		if ours[ref.UID] {
			result.Source = Fallback
		}
	}
	if IsStandby(slice) {
		result.Source = Fallback
	}
	return result
}

// merged adds an endpoint to a list, or what is known of it to the one with the
// same address.
func merged(list []Endpoint, added Endpoint) []Endpoint {
	i := slices.IndexFunc(list, func(e Endpoint) bool { return e.Address == added.Address && e.Source == added.Source })
	if i < 0 {
		return append(list, added)
	}
	list[i].Ready = list[i].Ready || added.Ready
	list[i].Serving = list[i].Serving || added.Serving
	return list
}

// carriesTraffic tells whether proxies use a slice: a Pod that lacks the named
// target port is listed in a slice without ports, as ready, and answers nothing.
// Only a headless Service may have no ports at all.
func carriesTraffic(slice *discoveryv1.EndpointSlice) bool {
	_, headless := slice.Labels[corev1.IsHeadlessService]
	return slice.AddressType != discoveryv1.AddressTypeFQDN && (len(slice.Ports) > 0 || headless)
}

// Count is how many endpoints of a source there are, and how many of them are
// ready. A Pod with addresses of both IP families is one.
func Count(list []Endpoint, source Source) (ready, all int) {
	isReady := map[string]bool{}
	for _, endpoint := range list {
		if endpoint.Source == source {
			name := cmp.Or(endpoint.Pod, endpoint.Address)
			isReady[name] = isReady[name] || endpoint.Ready
		}
	}
	for _, yes := range isReady {
		if yes {
			ready++
		}
	}
	return ready, len(isReady)
}
