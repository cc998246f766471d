package protection

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// OwnReady lists the ready endpoints that are the application's own, over all
// slices of a Service but the operator's. A Service without one is down.
//
// "Ready" is the endpoint's condition, as kube-proxy reads it, and not that of a
// Pod: a Service that publishes addresses that are not ready wants them used.
func OwnReady(service *corev1.Service, all []discoveryv1.EndpointSlice, ours Ours) []discoveryv1.Endpoint {
	var own []discoveryv1.Endpoint
	for endpoint := range Ready(service, all) {
		if !ours.Lists(endpoint) {
			own = append(own, *endpoint)
		}
	}
	return own
}

// Ready iterates over the endpoints to which the traffic of a Service may go now,
// but for those that the operator publishes.
func Ready(service *corev1.Service, all []discoveryv1.EndpointSlice) func(yield func(*discoveryv1.Endpoint) bool) {
	return func(yield func(*discoveryv1.Endpoint) bool) {
		for i := range all {
			if IsStandby(&all[i]) || !CarriesTraffic(service, &all[i]) {
				continue
			}
			for j := range all[i].Endpoints {
				if endpoint := &all[i].Endpoints[j]; IsReady(endpoint) && !yield(endpoint) {
					return
				}
			}
		}
	}
}

// IsReady reports whether an endpoint is ready. A nil condition means true
// (discovery.k8s.io/v1 EndpointConditions).
func IsReady(endpoint *discoveryv1.Endpoint) bool {
	return ptr.Deref(endpoint.Conditions.Ready, true)
}

// IsPromoted reports whether a slice has a ready endpoint.
func IsPromoted(slice *discoveryv1.EndpointSlice) bool {
	return slices.ContainsFunc(slice.Endpoints, func(endpoint discoveryv1.Endpoint) bool { return IsReady(&endpoint) })
}

// CarriesTraffic reports whether a slice serves a port of the Service, by its name.
// A Pod that lacks the named target port is listed in a slice without that port:
// such an endpoint is ready, and answers nothing. kube-proxy reads no FQDN slices.
// Only a headless Service may have no ports at all.
func CarriesTraffic(service *corev1.Service, slice *discoveryv1.EndpointSlice) bool {
	if slice.AddressType == discoveryv1.AddressTypeFQDN {
		return false
	}
	if len(service.Spec.Ports) == 0 {
		return true
	}
	return slices.ContainsFunc(slice.Ports, func(published discoveryv1.EndpointPort) bool {
		return published.Port != nil && slices.ContainsFunc(service.Spec.Ports, func(port corev1.ServicePort) bool {
			return port.Name == ptr.Deref(published.Name, "")
		})
	})
}
