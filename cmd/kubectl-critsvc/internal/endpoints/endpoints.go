// Package endpoints lists the endpoints behind a Service: the application's, and the
// fallback's.
package endpoints

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/critical-service/operator/internal/protection"
)

// Source is the owner of an endpoint.
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
	// Source is its owner.
	Source Source `json:"source"`
	// Ready, Serving and Terminating are its conditions, as proxies read them.
	Ready       bool `json:"ready"`
	Serving     bool `json:"serving"`
	Terminating bool `json:"terminating"`
	// Pod and Node are where it runs, as far as its slice says.
	Pod  string `json:"pod,omitempty"`
	Node string `json:"node,omitempty"`
}

// Of lists the endpoints of a Service, the application's first. Pods are those of its
// namespace that may be the operator's; package protection decides which are, as it
// does for the operator. An address that several slices list, for several ports, is
// one endpoint.
func Of(service *corev1.Service, all []discoveryv1.EndpointSlice, pods []corev1.Pod) []Endpoint {
	ours := protection.OursAmong(pods)
	var found []Endpoint
	for i := range all {
		slice := &all[i]
		if !protection.CarriesTraffic(service, slice) {
			continue
		}
		for j := range slice.Endpoints {
			endpoint := &slice.Endpoints[j]
			source := Application
			if protection.IsStandby(slice) || ours.Lists(endpoint) {
				source = Fallback
			}
			for _, address := range endpoint.Addresses {
				found = merged(found, endpointOf(address, source, endpoint))
			}
		}
	}
	slices.SortFunc(found, func(a, b Endpoint) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Address, b.Address))
	})
	return found
}

func endpointOf(address string, source Source, endpoint *discoveryv1.Endpoint) Endpoint {
	ready := protection.IsReady(endpoint)
	result := Endpoint{
		Address: address, Source: source,
		Ready: ready, Serving: ptr.Deref(endpoint.Conditions.Serving, ready),
		Terminating: ptr.Deref(endpoint.Conditions.Terminating, false), Node: ptr.Deref(endpoint.NodeName, ""),
	}
	if ref := endpoint.TargetRef; ref != nil && ref.Kind == "Pod" {
		result.Pod = ref.Name
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

// Count returns how many endpoints of a source there are, and how many of them are
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
