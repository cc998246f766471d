package decide

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
	"github.com/critical-service/operator/internal/protection"
)

// Needs are the objects that a decision about a Service rests on, beside those
// of the Service itself. A zero name is none.
type Needs struct {
	// Template is the PodTemplate of the fallback Pod.
	Template types.NamespacedName
	// Content is the ConfigMap with the content of the page.
	Content types.NamespacedName
	// Neighbors is true if Neighbors are.
	Neighbors bool
	// Backups are the backup Services: the one that is wanted, and one that is still
	// published.
	Backups []types.NamespacedName
}

// Needs returns what else is to be read for a Snapshot that has the Service, its
// namespace, the policies and the slices.
func (s *Snapshot) Needs() Needs {
	var needs Needs
	governor := s.governor()
	if governor == nil {
		return needs
	}
	beside := func(name string) types.NamespacedName {
		return types.NamespacedName{Namespace: s.Service.Namespace, Name: name}
	}
	switch fallback := &governor.Protection().Fallback; {
	case fallback.Service != nil:
		needs.Backups = append(needs.Backups, beside(fallback.Service.Name))
	case fallback.PodTemplate != nil:
		needs.Template = s.template(governor)
		needs.Neighbors = fallback.PodTemplate.Publish == criticalv2.PublishSelectorLabels
	case fallback.Page != nil && fallback.Page.ConfigMapName != "":
		needs.Content = beside(fallback.Page.ConfigMapName)
	}
	for i := range s.Standby {
		if published := s.Standby[i].Annotations[criticalv2.AnnotationBackup]; published != "" {
			needs.Backups = append(needs.Backups, beside(published))
		}
	}
	return needs
}

// template is the PodTemplate that a policy means; none where it may not be used, or none may.
func (s *Snapshot) template(policy criticalv2.Policy) types.NamespacedName {
	if s.Settings.NoPods != "" || !s.Settings.Templates().Allows(policy, s.Service.Namespace) {
		return types.NamespacedName{}
	}
	return s.Settings.Templates().Named(policy)
}

// isUnread reports whether the PodTemplate of the Service exists and was not read yet.
func (s *Snapshot) isUnread() bool {
	return s.Template == nil && slices.Contains(s.Unread, s.Needs().Template)
}

// NeighborTemplates says for each of the other Services of the namespace which PodTemplate its
// fallback Pod is made from, if that carries the labels of its selector; none otherwise.
func (s *Snapshot) NeighborTemplates() func(*corev1.Service) types.NamespacedName {
	governorOf := protection.Governors(s.Policies, s.NamespaceLabels)
	return func(service *corev1.Service) types.NamespacedName {
		governor := governorOf(service)
		if governor == nil || len(service.Spec.Selector) == 0 {
			return types.NamespacedName{}
		}
		fallback := governor.Protection().Fallback.PodTemplate
		if fallback == nil || fallback.Publish != criticalv2.PublishSelectorLabels {
			return types.NamespacedName{}
		}
		return s.template(governor)
	}
}

// IsGoverned reports whether a policy matches the Service. Where none does, a
// decision only ends what is there of a fallback.
func (s *Snapshot) IsGoverned() bool { return s.governor() != nil }

// NeedsResponder reports whether a page may answer for the Service: it is configured, or
// stands in for a PodTemplate, announces a maintenance, or is still published. It is
// asked of a Snapshot that has what Needs wants, and the maintenances.
func (s *Snapshot) NeedsResponder() bool {
	governor := s.governor()
	return governor != nil && (governor.Protection().Fallback.Service == nil || len(s.Maintenances) > 0 ||
		slices.ContainsFunc(s.Standby, func(slice discoveryv1.EndpointSlice) bool {
			return slice.Labels[criticalv2.LabelFallbackKind] == criticalv2.FallbackKindPage
		}))
}

func (s *Snapshot) governor() criticalv2.Policy {
	if s.Service == nil {
		return nil
	}
	return protection.Governor(s.Policies, s.Service, s.NamespaceLabels)
}

// PodName is the name that a new fallback Pod of the Service gets.
func (s *Snapshot) PodName() string {
	return render.PodName(s.Settings.PodNamePrefix, s.Service.Name)
}

// OwnReady lists the ready endpoints that are the Service's own.
func (s *Snapshot) OwnReady() []discoveryv1.Endpoint {
	return protection.OwnReady(s.Service, s.Slices, s.ours())
}

// Targets are all that can be asked whether it answers in the place of the Service: its
// standby, and in an outage the fallback Pods that it selects.
func (s *Snapshot) Targets() []protection.Target {
	return append(protection.Targets(s.Service, s.Standby), s.SelectedTargets()...)
}

// SelectedTargets are those of the fallback Pods that the Service selects, in an outage.
func (s *Snapshot) SelectedTargets() []protection.Target {
	return protection.SelectedTargets(s.Service, s.Slices, s.ours())
}

// ours are the Pods of the namespace that the operator made. A Pod that has the
// fallback's name is one, unless it was looked up and is another's.
func (s *Snapshot) ours() protection.Ours {
	uids := make([]types.UID, 0, len(s.OtherFallbacks)+len(s.Pods))
	for _, pod := range s.OtherFallbacks {
		uids = append(uids, pod.UID)
	}
	for i := range s.Pods {
		uids = append(uids, s.Pods[i].UID)
	}
	var conflicting types.UID
	if s.NameConflict != nil {
		conflicting = s.NameConflict.UID
	}
	return protection.OursOf(s.PodName(), conflicting, uids...)
}

// Unknown are the Pods that slices list, which have the fallback's name and are not among the
// known fallbacks, so that they must be looked up. They are sorted.
func (s *Snapshot) Unknown() []types.UID {
	if s.Service == nil {
		return nil // It is gone, and its slices may still be there.
	}
	var unknown []types.UID
	name := s.PodName()
	for _, slice := range s.Slices {
		for _, endpoint := range slice.Endpoints {
			ref := endpoint.TargetRef
			if ref != nil && ref.Kind == "Pod" && ref.Name == name && !s.knows(ref.UID) {
				unknown = append(unknown, ref.UID)
			}
		}
	}
	slices.Sort(unknown)
	return slices.Compact(unknown)
}

func (s *Snapshot) knows(uid types.UID) bool {
	for i := range s.Pods {
		if s.Pods[i].UID == uid {
			return true
		}
	}
	return false
}
