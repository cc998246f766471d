package protection

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/appprotocol"
)

// Target is one TCP port of one endpoint of a fallback, and how clients ask it.
type Target struct {
	// Port is the Service's port.
	Port corev1.ServicePort
	// Endpoint is the one that is published.
	Endpoint *discoveryv1.Endpoint
	// Number is the port on which the endpoint listens.
	Number int32
	// Protocol is that in which to ask.
	Protocol appprotocol.Protocol
	// Selected is true of a fallback Pod that the Service selects, and that Kubernetes
	// publishes.
	Selected bool
}

// Pod is the name of the Pod that listens; empty where the endpoint names none.
func (t Target) Pod() string {
	return ptr.Deref(t.Endpoint.TargetRef, corev1.ObjectReference{}).Name
}

// Address is where the endpoint listens, as host:port.
func (t Target) Address() string {
	return net.JoinHostPort(t.Endpoint.Addresses[0], strconv.Itoa(int(t.Number)))
}

// Targets lists the TCP ports of all that stands by for a Service, by port, Pod and
// address. Of slices that are not the Service's standby it takes nothing.
func Targets(service *corev1.Service, all []discoveryv1.EndpointSlice) []Target {
	return targets(service, all, func(slice *discoveryv1.EndpointSlice, _ *discoveryv1.Endpoint) bool { return IsStandby(slice) })
}

// SelectedTargets lists the TCP ports of the fallback Pods that a Service selects, where
// Kubernetes publishes them as ready and no ready endpoint is the Service's own: nothing
// else answers its clients.
func SelectedTargets(service *corev1.Service, all []discoveryv1.EndpointSlice, ours Ours) []Target {
	for endpoint := range Ready(service, all) {
		if !ours.Lists(endpoint) {
			return nil
		}
	}
	return targets(service, all, func(slice *discoveryv1.EndpointSlice, endpoint *discoveryv1.Endpoint) bool {
		ref := endpoint.TargetRef
		return !IsStandby(slice) && IsReady(endpoint) && ref != nil && ref.Kind == "Pod" && ours.Has(ref.UID)
	})
}

// targets lists the TCP ports of chosen endpoints of a Service.
func targets(service *corev1.Service, all []discoveryv1.EndpointSlice, isChosen func(*discoveryv1.EndpointSlice, *discoveryv1.Endpoint) bool) []Target {
	var found []Target
	for _, port := range service.Spec.Ports {
		if !IsTCP(port) {
			continue
		}
		first := len(found)
		for i := range all {
			slice := &all[i]
			if slice.Labels[discoveryv1.LabelServiceName] != service.Name {
				continue
			}
			at := slices.IndexFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return p.Port != nil && ptr.Deref(p.Name, "") == port.Name })
			if at < 0 {
				continue
			}
			for j := range slice.Endpoints {
				if endpoint := &slice.Endpoints[j]; len(endpoint.Addresses) > 0 && isChosen(slice, endpoint) {
					found = append(found, Target{
						Port: port, Endpoint: endpoint, Number: *slice.Ports[at].Port,
						Protocol: askedIn(port, kindOf(slice)), Selected: !IsStandby(slice),
					})
				}
			}
		}
		slices.SortStableFunc(found[first:], func(a, b Target) int {
			return cmp.Or(cmp.Compare(a.Pod(), b.Pod()), cmp.Compare(a.Address(), b.Address()))
		})
	}
	return found
}

// kindOf is the kind of fallback that a slice publishes. Of a slice that is not the
// operator's, any user may have written the label.
func kindOf(slice *discoveryv1.EndpointSlice) string {
	if !IsStandby(slice) {
		return criticalv2.FallbackKindPodTemplate
	}
	return slice.Labels[criticalv2.LabelFallbackKind]
}

// askedIn is the protocol in which to ask a port of a standby, by its kind. The
// responder speaks every protocol, and where the port does not say which, it is
// asked by HTTP: a process that hangs still has its connections accepted. Pods of
// others are not to be disturbed: they are asked for a page where the port says that
// it has one, and otherwise only whether they listen.
func askedIn(port corev1.ServicePort, kind string) appprotocol.Protocol {
	if kind == criticalv2.FallbackKindPage {
		if protocol := appprotocol.Of(port.AppProtocol, port.Port, port.Name); protocol != appprotocol.TCP {
			return protocol
		}
		return appprotocol.HTTP
	}
	port.Port = 0 // By its number, a port says nothing.
	switch protocol := appprotocol.Of(port.AppProtocol, port.Port, port.Name); protocol {
	case appprotocol.HTTP, appprotocol.H2C, appprotocol.GRPC:
		return protocol
	default:
		return appprotocol.TCP
	}
}

// IsTCP reports whether a port is a TCP port, the default.
func IsTCP(port corev1.ServicePort) bool {
	return port.Protocol == "" || port.Protocol == corev1.ProtocolTCP
}

// CanHavePage reports whether the page can answer for a Service. The responder
// listens on TCP only, and not on the port of the Pod itself, which clients of a
// headless Service dial.
func CanHavePage(service *corev1.Service) bool {
	return service.Spec.ClusterIP != corev1.ClusterIPNone && slices.ContainsFunc(service.Spec.Ports, IsTCP)
}

// PortName is the name of a port, or its number where it has none.
func PortName(port corev1.ServicePort) string {
	return cmp.Or(port.Name, strconv.Itoa(int(port.Port)))
}

// Host is the name under which clients know a Service.
func Host(service *corev1.Service) string {
	return fmt.Sprintf("%s.%s.svc", service.Name, service.Namespace)
}
