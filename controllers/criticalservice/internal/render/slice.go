package render

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Standby is what the standby slices of a Service are made from.
type Standby struct {
	// Service is the one that is protected, and Governor its CriticalService.
	Service  *corev1.Service
	Governor criticalv2.Policy
	// Others are the other CriticalServices that match the Service.
	Others []criticalv2.Policy
	// Family is IPv4 or IPv6.
	Family discoveryv1.AddressType
	// Kind is the member of spec.fallback.
	Kind string
	// Page is what the responder answers; nil for other kinds.
	Page *criticalv2.PageFallback
	// Announced is the maintenance that the page announces; nil if none is.
	Announced *criticalv2.Announcement
	// Backup names the backup Service; empty for other kinds.
	Backup string
	// Ports and Endpoints are those of the backup Service; a Pod has a slice of its
	// own. The conditions of the endpoints follow from Promoted.
	Ports     []discoveryv1.EndpointPort
	Endpoints []discoveryv1.Endpoint
	// Promoted makes the endpoints ready, for consumers that know no others.
	Promoted bool
	Notes
}

// Notes remember when a delay began: while it runs, and until its end is carried out. A zero time is not noted.
type Notes struct {
	OutageSince, RecoveredSince time.Time
}

// maxEndpoints is how many endpoints a slice has at most, as Kubernetes keeps it
// by default: a backup Service may have more.
const maxEndpoints = 100

// Slice is the standby slice of a Service for one IP family that belongs to the
// CriticalService. It asks for the fallback, by its annotations, remembers the delays,
// and publishes the endpoints of a backup Service. Pods are published by PodSlice.
//
// Kubernetes leaves it alone, because it carries a manager's name that is not
// its own (discovery.k8s.io/v1, label managed-by). An endpoint that is serving
// and terminating gets traffic only while the Service has no ready endpoint
// (KEP-1669, kube-proxy 1.28 and later): this is the whole standby.
func Slice(s Standby) *discoveryv1.EndpointSlice {
	slice := s.slice(SliceName(s.Service.Name, s.Family))
	slice.OwnerReferences = owners(s.Governor, s.Others)
	slice.Annotations = s.annotations()
	slice.Ports, slice.Endpoints = sortedPorts(s.Ports), slices.Clone(s.Endpoints)
	s.setConditions(slice)
	slices.SortFunc(slice.Endpoints, func(a, b discoveryv1.Endpoint) int {
		return cmp.Or(slices.Compare(a.Addresses, b.Addresses), cmp.Compare(a.TargetRef.UID, b.TargetRef.UID))
	})
	// Pods in the network of their node may share an address.
	slice.Endpoints = slices.CompactFunc(slice.Endpoints, func(a, b discoveryv1.Endpoint) bool { return slices.Equal(a.Addresses, b.Addresses) })
	slice.Endpoints = slice.Endpoints[:min(len(slice.Endpoints), maxEndpoints)]
	return slice
}

// PodSlice is the standby slice of a Service that publishes one Pod in one IP family.
// The Pod owns it: when the Pod goes, the garbage collector of Kubernetes removes the
// address, with the operator up or down, before another Pod may get it. The Pod
// belongs to the CriticalService, so that the slice goes with that, too.
func PodSlice(s Standby, pod *corev1.Pod, endpoint discoveryv1.Endpoint, ports []discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
	slice := s.slice(PodSliceName(s.Service.Name, s.Family, pod.UID))
	slice.Labels[criticalv2.LabelStandbyPod] = string(pod.UID)
	slice.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}}
	slice.Ports, slice.Endpoints = sortedPorts(ports), []discoveryv1.Endpoint{endpoint}
	slice.Annotations = s.Notes.annotations()
	s.setConditions(slice)
	return slice
}

// slice is what all standby slices of the Service have in common.
func (s *Standby) slice(name string) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name:      name,
			Namespace: s.Service.Namespace,
			Labels: map[string]string{
				discoveryv1.LabelServiceName: s.Service.Name,
				discoveryv1.LabelManagedBy:   criticalv2.ManagedBy,
				criticalv2.LabelFallbackKind: s.Kind,
			},
		},
		AddressType: s.Family,
	}
	if s.Service.Spec.ClusterIP == corev1.ClusterIPNone {
		slice.Labels[corev1.IsHeadlessService] = ""
	}
	return slice
}

// setConditions makes the endpoints of a slice ready ones, or standby.
func (s *Standby) setConditions(slice *discoveryv1.EndpointSlice) {
	for i := range slice.Endpoints {
		slice.Endpoints[i].Conditions = Conditions(s.Promoted)
	}
}

// Conditions are those of a standby endpoint: a ready one, or one that gets traffic
// only while the Service has no ready endpoint.
func Conditions(promoted bool) discoveryv1.EndpointConditions {
	return discoveryv1.EndpointConditions{Ready: new(promoted), Serving: new(true), Terminating: new(!promoted)}
}

func (s *Standby) annotations() map[string]string {
	texts := map[string]string{}
	if s.Page != nil {
		// A struct of strings and numbers always marshals.
		page, _ := json.Marshal(s.Page)
		texts[criticalv2.AnnotationPage] = string(page)
	}
	if s.Announced != nil {
		announced, _ := json.Marshal(s.Announced)
		texts[criticalv2.AnnotationMaintenance] = string(announced)
	}
	if s.Backup != "" {
		texts[criticalv2.AnnotationBackup] = s.Backup
	}
	maps.Copy(texts, s.Notes.annotations())
	return texts
}

func (n Notes) annotations() map[string]string {
	texts := map[string]string{}
	if !n.OutageSince.IsZero() {
		texts[criticalv2.AnnotationOutageSince] = n.OutageSince.UTC().Format(time.RFC3339Nano)
	}
	if !n.RecoveredSince.IsZero() {
		texts[criticalv2.AnnotationRecoveredSince] = n.RecoveredSince.UTC().Format(time.RFC3339Nano)
	}
	return texts
}

func sortedPorts(ports []discoveryv1.EndpointPort) []discoveryv1.EndpointPort {
	return slices.SortedFunc(slices.Values(ports), func(a, b discoveryv1.EndpointPort) int {
		return strings.Compare(*a.Name, *b.Name)
	})
}

// SliceName is the name of the standby slice of a Service for one IP family. A
// Service's name has at most 63 characters, so that there is always room.
func SliceName(service string, family discoveryv1.AddressType) string {
	return service + "-standby-" + strings.ToLower(string(family))
}

// PodSliceName is the name of the standby slice that publishes one Pod.
func PodSliceName(service string, family discoveryv1.AddressType, pod types.UID) string {
	return SliceName(service, family) + "-" + hash(string(pod))
}

// SliceLabels and SliceAnnotations are the keys that the operator sets on a
// standby slice; all others belong to others, and stay.
var (
	sliceLabels = []string{
		discoveryv1.LabelServiceName, discoveryv1.LabelManagedBy, criticalv2.LabelFallbackKind, criticalv2.LabelStandbyPod,
		corev1.IsHeadlessService,
	}
	sliceAnnotations = []string{
		criticalv2.AnnotationPage, criticalv2.AnnotationMaintenance, criticalv2.AnnotationBackup,
		criticalv2.AnnotationOutageSince, criticalv2.AnnotationRecoveredSince,
	}
)

// Updated is a slice that exists, as it must become.
func Updated(existing, wanted *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	updated := existing.DeepCopy()
	updated.Labels = overlaid(updated.Labels, wanted.Labels, sliceLabels)
	updated.Annotations = overlaid(updated.Annotations, wanted.Annotations, sliceAnnotations)
	updated.OwnerReferences = wanted.OwnerReferences
	updated.Ports, updated.Endpoints = wanted.Ports, wanted.Endpoints
	return updated
}

// Kept is a slice that exists and goes on publishing what it does, promoted or not, with these notes.
func Kept(existing *discoveryv1.EndpointSlice, promoted bool, notes Notes) *discoveryv1.EndpointSlice {
	kept := existing.DeepCopy()
	kept.Annotations = overlaid(kept.Annotations, notes.annotations(), sliceAnnotations)
	for i := range kept.Endpoints {
		kept.Endpoints[i].Conditions = Conditions(promoted)
	}
	return kept
}

// overlaid is a map in which the given keys are as another map has them.
func overlaid(base, other map[string]string, keys []string) map[string]string {
	result := maps.Clone(base)
	if result == nil {
		result = map[string]string{}
	}
	for _, key := range keys {
		if value, found := other[key]; found {
			result[key] = value
		} else {
			delete(result, key)
		}
	}
	return result
}

// Families are the IP families of a Service.
func Families(service *corev1.Service) []discoveryv1.AddressType {
	var families []discoveryv1.AddressType
	for _, family := range service.Spec.IPFamilies {
		families = append(families, discoveryv1.AddressType(family))
	}
	if len(families) == 0 {
		families = append(families, discoveryv1.AddressTypeIPv4)
	}
	return families
}

// PodEndpoints are the endpoints of a Pod by IP family. Their target is the Pod,
// in the namespace of the slice, so that no one can be sent elsewhere.
func PodEndpoints(pod *corev1.Pod) map[discoveryv1.AddressType]discoveryv1.Endpoint {
	endpoints := map[discoveryv1.AddressType]discoveryv1.Endpoint{}
	for _, ip := range pod.Status.PodIPs {
		endpoint := discoveryv1.Endpoint{
			Addresses: []string{ip.IP},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		}
		if pod.Spec.NodeName != "" {
			endpoint.NodeName = new(pod.Spec.NodeName)
		}
		endpoints[FamilyOf(ip.IP)] = endpoint
	}
	return endpoints
}

// FamilyOf is the family of an IP address.
func FamilyOf(address string) discoveryv1.AddressType {
	if strings.Contains(address, ":") {
		return discoveryv1.AddressTypeIPv6
	}
	return discoveryv1.AddressTypeIPv4
}

// EndpointPort is a port of a slice: it has the name of the Service's port, by
// which proxies find it, and the number on which the endpoint really listens.
func EndpointPort(port corev1.ServicePort, number int32) discoveryv1.EndpointPort {
	return discoveryv1.EndpointPort{
		Name: new(port.Name), Port: new(number), Protocol: new(protocolOf(port.Protocol)), AppProtocol: port.AppProtocol,
	}
}
