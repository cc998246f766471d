package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
)

// serviceBacking is the backup Service: its own ready endpoints, never one that
// the operator published for it. So two Services that back each other up are
// no loop: neither passes on what it got.
func (s *Snapshot) serviceBacking(name string) backing {
	backup := s.Backups[name]
	switch {
	case name == s.Service.Name:
		return unsuitable("The Service cannot back itself up: name another in spec.fallback.service.")
	case backup.Service == nil:
		return backing{reason: criticalv2.ReasonBackupNotFound, message: fmt.Sprintf(
			"Backup Service %q does not exist in namespace %q: create it, or name another in spec.fallback.service.", name, s.Service.Namespace)}
	}
	names, missing := s.backupPorts(backup.Service)
	if len(missing) > 0 {
		return unsuitable("Backup Service %q has no port for %s: it must have ports of the same names, or both Services a single one.",
			name, strings.Join(missing, ", "))
	}
	parts, strays := s.backupParts(backup, names)
	switch best := greatest(parts); {
	case best != nil:
		return *best
	case strays > 0:
		return unsuitable("The endpoints of backup Service %q are not Pods of namespace %q, and no others are published.", name, s.Service.Namespace)
	default:
		return backing{reason: criticalv2.ReasonBackupNotReady, message: fmt.Sprintf("Backup Service %q has no ready endpoint of its own.", name)}
	}
}

func unsuitable(format string, args ...any) backing {
	return backing{reason: criticalv2.ReasonBackupUnsuitable, message: fmt.Sprintf(format, args...)}
}

// backupParts are the ready endpoints of the backup, by the numbers of their
// ports, and how many others there are that are no Pods of the namespace.
func (s *Snapshot) backupParts(backup Backup, names map[string]string) (parts map[string]*backing, strays int) {
	parts = map[string]*backing{}
	for i := range backup.Slices {
		slice := &backup.Slices[i]
		ports := s.mappedPorts(slice, names)
		if len(ports) == 0 || slice.AddressType == discoveryv1.AddressTypeFQDN {
			continue
		}
		key := portsKey(ports)
		if parts[key] == nil {
			parts[key] = &backing{ports: ports, endpoints: map[discoveryv1.AddressType][]discoveryv1.Endpoint{}}
		}
		for _, endpoint := range slice.Endpoints {
			switch ref := endpoint.TargetRef; {
			case !answersWell(endpoint.Conditions) || ref != nil && s.isOurs(ref.UID):
			case ref == nil || ref.Kind != "Pod" || ref.Namespace != "" && ref.Namespace != s.Service.Namespace:
				strays++
			default:
				parts[key].endpoints[slice.AddressType] = append(parts[key].endpoints[slice.AddressType], discoveryv1.Endpoint{
					Addresses: endpoint.Addresses, NodeName: endpoint.NodeName, TargetRef: ref,
				})
			}
		}
	}
	return parts, strays
}

// answersWell tells whether an endpoint of a backup may be relied on. A Service
// that publishes addresses that are not ready says `ready` of all of them: only
// `serving` tells, and one that is ending is not for long.
func answersWell(conditions discoveryv1.EndpointConditions) bool {
	return ptr.Deref(conditions.Ready, true) && ptr.Deref(conditions.Serving, true) && !ptr.Deref(conditions.Terminating, false)
}

// backupPorts maps the ports of the Service, by name, to those of the backup.
func (s *Snapshot) backupPorts(backup *corev1.Service) (names map[string]string, missing []string) {
	names = map[string]string{}
	for _, port := range s.Service.Spec.Ports {
		i := slices.IndexFunc(backup.Spec.Ports, func(other corev1.ServicePort) bool {
			return other.Name == port.Name && cmp.Or(other.Protocol, corev1.ProtocolTCP) == cmp.Or(port.Protocol, corev1.ProtocolTCP)
		})
		if i < 0 && len(s.Service.Spec.Ports) == 1 && len(backup.Spec.Ports) == 1 {
			i = 0
		}
		if i < 0 {
			missing = append(missing, fmt.Sprintf("%q (%d)", port.Name, port.Port))
			continue
		}
		names[port.Name] = backup.Spec.Ports[i].Name
	}
	return names, missing
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
func greatest(parts map[string]*backing) *backing {
	var best *backing
	bestKey, most := "", 0
	for key, part := range parts {
		n := len(part.endpoints[discoveryv1.AddressTypeIPv4]) + len(part.endpoints[discoveryv1.AddressTypeIPv6])
		if n > most || n == most && n > 0 && key < bestKey {
			best, bestKey, most = part, key, n
		}
	}
	return best
}
