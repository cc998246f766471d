// Package standby finds what stands by for a Service: the addresses to ask, and the
// protocol of each. It is pure.
package standby

import (
	"net"
	"slices"
	"strconv"

	"github.com/critical-service/operator/internal/contract/appprotocol"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Endpoint is one port of one standby endpoint.
type Endpoint struct {
	// Port is the Service's port.
	Port corev1.ServicePort
	// Pod is the name of the Pod that listens.
	Pod string
	// IP and Number are where it listens.
	IP     string
	Number int32
	// Protocol is that in which clients of the port ask.
	Protocol appprotocol.Protocol
}

// Address is where the endpoint listens.
func (e Endpoint) Address() string { return net.JoinHostPort(e.IP, strconv.Itoa(int(e.Number))) }

// PortName is the port's name, or its number where it has none.
func PortName(port corev1.ServicePort) string {
	if port.Name != "" {
		return port.Name
	}
	return strconv.Itoa(int(port.Port))
}

// Host is the name under which clients know a Service.
func Host(service *corev1.Service) string { return service.Name + "." + service.Namespace + ".svc" }

// Endpoints are the TCP ports of all that stands by for a Service, by port and
// address.
func Endpoints(service *corev1.Service, all []discoveryv1.EndpointSlice) []Endpoint {
	var found []Endpoint
	for _, port := range service.Spec.Ports {
		if port.Protocol != corev1.ProtocolTCP && port.Protocol != "" {
			continue
		}
		for _, slice := range all {
			if slice.Labels[discoveryv1.LabelManagedBy] != criticalv2.ManagedBy || slice.Labels[discoveryv1.LabelServiceName] != service.Name {
				continue
			}
			at := slices.IndexFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return ptr.Deref(p.Name, "") == port.Name && p.Port != nil })
			if at < 0 {
				continue
			}
			for _, endpoint := range slice.Endpoints {
				found = append(found, Endpoint{
					Port: port, Pod: podOf(endpoint), IP: endpoint.Addresses[0], Number: *slice.Ports[at].Port, Protocol: appprotocol.Of(port.AppProtocol, port.Port, port.Name),
				})
			}
		}
	}
	return found
}

func podOf(endpoint discoveryv1.Endpoint) string {
	if endpoint.TargetRef == nil {
		return ""
	}
	return endpoint.TargetRef.Name
}
