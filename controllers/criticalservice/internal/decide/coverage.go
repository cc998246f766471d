package decide

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/protection"
)

// place is where clients ask: a port of the Service, by name, in one IP family.
type place struct {
	family discoveryv1.AddressType
	port   string
}

// coverage is where the fallback answers in the place of the Service.
type coverage struct {
	// everywhere and somewhere report whether it answers on every port in every IP
	// family of the Service, and on one in one.
	everywhere, somewhere bool
	// families are those in which nothing of it can be reached, and ports those on which
	// it does not answer in the others.
	families []discoveryv1.AddressType
	ports    []corev1.ServicePort
}

// coverage finds where what is published now answers.
func (s *Snapshot) coverage() coverage {
	answered, refused := s.answered()
	c := coverage{everywhere: true}
	for _, family := range render.Families(s.Service) {
		reached := false
		var missing []corev1.ServicePort
		for _, port := range required(s.Service) {
			at := place{family, port.Name}
			reached = reached || answered[at] || refused[at]
			if answered[at] && !refused[at] {
				c.somewhere = true
			} else {
				missing = append(missing, port)
			}
		}
		c.everywhere = c.everywhere && len(missing) == 0
		if reached {
			c.ports = append(c.ports, missing...)
		} else {
			c.families = append(c.families, family)
		}
	}
	return c
}

// required are the ports on which a fallback has to answer: those of TCP, or all where
// there is none. A headless Service without ports has one that is not named.
func required(service *corev1.Service) []corev1.ServicePort {
	ports := service.Spec.Ports
	if slices.ContainsFunc(ports, protection.IsTCP) {
		ports = slices.DeleteFunc(slices.Clone(ports), func(port corev1.ServicePort) bool { return !protection.IsTCP(port) })
	}
	if len(ports) == 0 {
		return []corev1.ServicePort{{}}
	}
	return ports
}

// answered are the places in which something of ours answers, and refused those in
// which something of ours gets requests that it cannot answer.
func (s *Snapshot) answered() (answered, refused map[place]bool) {
	answered, refused = map[place]bool{}, map[place]bool{}
	for i := range s.Standby {
		slice := &s.Standby[i]
		for j := range slice.Endpoints {
			if endpoint := &slice.Endpoints[j]; s.answers(endpoint) {
				s.mark(slice, s.podOf(endpoint), answered, refused)
			}
		}
	}
	for i := range s.Slices {
		slice := &s.Slices[i]
		for _, endpoint := range slice.Endpoints {
			if !protection.IsReady(&endpoint) || !ptr.Deref(endpoint.Conditions.Serving, true) || endpoint.TargetRef == nil {
				continue
			}
			if pod := s.fallback(endpoint.TargetRef.UID); pod != nil {
				s.mark(slice, pod, answered, refused)
			}
		}
	}
	return answered, refused
}

// mark notes the ports of a slice as answered, or as refused where the Pod does not
// listen on them.
func (s *Snapshot) mark(slice *discoveryv1.EndpointSlice, pod *corev1.Pod, answered, refused map[place]bool) {
	if len(s.Service.Spec.Ports) == 0 {
		answered[place{family: slice.AddressType}] = true
	}
	for _, port := range slice.Ports {
		at := place{slice.AddressType, ptr.Deref(port.Name, "")}
		switch {
		case port.Port == nil:
		case pod == nil || listensOn(pod, port):
			answered[at] = true
		default:
			refused[at] = true
		}
	}
}

// fallback is the fallback Pod of this or another Service with a UID; nil if none has it.
func (s *Snapshot) fallback(uid types.UID) *corev1.Pod {
	for i := range s.Pods {
		if s.Pods[i].UID == uid {
			return &s.Pods[i]
		}
	}
	i := slices.IndexFunc(s.OtherFallbacks, func(pod *corev1.Pod) bool { return pod.UID == uid })
	if i < 0 {
		return nil
	}
	return s.OtherFallbacks[i]
}

// listensOn reports whether a Pod listens on a port, as far as it says.
func listensOn(pod *corev1.Pod, port discoveryv1.EndpointPort) bool {
	if protection.IsResponder(pod) {
		numbers, err := listener.ParseRange(pod.Annotations[criticalv2.AnnotationListeners])
		return err == nil && numbers.Contains(*port.Port)
	}
	return render.MayListen(&pod.Spec, *port.Port, ptr.Deref(port.Protocol, corev1.ProtocolTCP))
}

// familyMissing names the IP families of the Service in which nothing answers.
func (d *decision) familyMissing() string {
	var names []string
	for _, family := range d.covered.families {
		names = append(names, string(family))
	}
	return fmt.Sprintf("The fallback has no %s address, and the Service has: clients of that family get no answer.", strings.Join(names, " and no "))
}

// portsMissing names the ports of the Service on which nothing answers.
func (d *decision) portsMissing() string {
	var names []string
	for _, port := range d.covered.ports {
		if name := render.PortText(port); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return fmt.Sprintf("The fallback does not answer on port %s of the Service: clients of it get no answer. The events of the Service and of its CriticalService say why.",
		strings.Join(names, ", "))
}
