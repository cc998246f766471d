package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
)

// backupFacts are what is known of a backup Service.
type backupFacts struct {
	target
	name    string
	missing bool
	// itself is true where a Service is to back itself up.
	itself bool
	// lacking are ports of the Service, in words, for which the backup has none.
	lacking []string
	// foreign is how many of its ready endpoints are no Pods of the namespace.
	foreign int
}

// backupOf judges a backup Service: its own ready endpoints, never one that the
// operator published for it. So two Services that back each other up are no loop:
// neither passes on what it got.
func backupOf(f *facts, name string) backupFacts {
	backup := f.Backups[name]
	b := backupFacts{name: name, itself: name == f.Service.Name, missing: backup.Service == nil}
	if b.itself || b.missing {
		return b
	}
	names, lacking := f.backupPorts(backup.Service)
	if b.lacking = lacking; len(lacking) > 0 {
		return b
	}
	parts, foreign := f.backupParts(backup, names)
	b.foreign = foreign
	if best := greatest(parts); best != nil {
		b.target = *best
	}
	return b
}

// backupPorts maps the ports of the Service, by name, to those of the backup.
func (s *Snapshot) backupPorts(backup *corev1.Service) (names map[string]string, lacking []string) {
	names = map[string]string{}
	for _, port := range s.Service.Spec.Ports {
		i := slices.IndexFunc(backup.Spec.Ports, func(other corev1.ServicePort) bool {
			return other.Name == port.Name && cmp.Or(other.Protocol, corev1.ProtocolTCP) == cmp.Or(port.Protocol, corev1.ProtocolTCP)
		})
		if i < 0 && len(s.Service.Spec.Ports) == 1 && len(backup.Spec.Ports) == 1 {
			i = 0
		}
		if i < 0 {
			lacking = append(lacking, fmt.Sprintf("%q (%d)", port.Name, port.Port))
			continue
		}
		names[port.Name] = backup.Spec.Ports[i].Name
	}
	return names, lacking
}

// backupParts are the ready endpoints of the backup, by the numbers of their ports,
// and how many others there are that are no Pods of the namespace.
func (f *facts) backupParts(backup Backup, names map[string]string) (parts map[string]*target, foreign int) {
	parts = map[string]*target{}
	for i := range backup.Slices {
		slice := &backup.Slices[i]
		if !isKubernetes(slice) || len(backup.Service.Spec.Selector) == 0 {
			foreign += len(slice.Endpoints)
			continue
		}
		ports := f.mappedPorts(slice, names)
		if len(ports) == 0 || slice.AddressType == discoveryv1.AddressTypeFQDN {
			continue
		}
		key := portsKey(ports)
		if parts[key] == nil {
			parts[key] = &target{ports: ports}
		}
		foreign += f.addBackups(parts[key], slice)
	}
	return parts, foreign
}

// addBackups adds the ready endpoints of a slice that are Pods of the namespace, and
// returns how many others there are.
func (f *facts) addBackups(part *target, slice *discoveryv1.EndpointSlice) (foreign int) {
	for _, endpoint := range slice.Endpoints {
		switch ref := endpoint.TargetRef; {
		case !isDependable(endpoint.Conditions) || ref != nil && f.ours.Has(ref.UID):
		case ref == nil || ref.Kind != "Pod" || ref.Namespace != "" && ref.Namespace != f.Service.Namespace:
			foreign++
		default:
			part.add(slice.AddressType, discoveryv1.Endpoint{Addresses: endpoint.Addresses, NodeName: endpoint.NodeName, TargetRef: ref})
		}
	}
	return foreign
}

// isKubernetes reports whether Kubernetes itself keeps a slice, for a Service that has a
// selector: then each address is that of the Pod it names. Any other slice may name a
// Pod of the namespace with the address of one elsewhere (CVE-2021-25740).
func isKubernetes(slice *discoveryv1.EndpointSlice) bool {
	return slice.Labels[discoveryv1.LabelManagedBy] == "endpointslice-controller.k8s.io"
}

// mappedPorts are the ports under which a slice of the backup answers for the
// Service; none if it lacks one.
func (s *Snapshot) mappedPorts(slice *discoveryv1.EndpointSlice, names map[string]string) []discoveryv1.EndpointPort {
	var ports []discoveryv1.EndpointPort
	for _, port := range s.Service.Spec.Ports {
		for _, published := range slice.Ports {
			if published.Port != nil && ptr.Deref(published.Name, "") == names[port.Name] {
				ports = append(ports, render.EndpointPort(port, *published.Port))
			}
		}
	}
	if len(ports) < len(s.Service.Spec.Ports) {
		return nil
	}
	return ports
}

func portsKey(ports []discoveryv1.EndpointPort) string {
	var key strings.Builder
	for _, port := range ports {
		fmt.Fprintf(&key, "%s=%d ", *port.Name, *port.Port)
	}
	return key.String()
}

// greatest is the part with the most endpoints, then the first by its ports: all
// endpoints of a slice have the same port numbers, and those of the backup's Pods
// may differ while it is rolled out.
func greatest(parts map[string]*target) *target {
	var best *target
	bestKey, most := "", 0
	for key, part := range parts {
		n := part.size()
		if n > most || n == most && n > 0 && key < bestKey {
			best, bestKey, most = part, key, n
		}
	}
	return best
}
