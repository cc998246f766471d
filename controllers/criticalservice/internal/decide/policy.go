package decide

import (
	"slices"
	"strings"

	"github.com/critical-service/operator/internal/protection"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
)

// inDoubt tells whether what there is of a fallback has to stay although nobody
// names the Service: it belongs to a CriticalService whose selector is not valid.
// The schema lets none pass; but a CustomResourceDefinition may be replaced by one
// that loses it, for example one that does not convert. Nobody can tell then
// whether this Service is meant. A fallback that answers beside the application
// is never left there.
func (s *Snapshot) inDoubt() bool {
	if s.Service.DeletionTimestamp != nil || protection.OptedOut(s.Service) {
		return false
	}
	if len(s.OwnReady()) > 0 && (s.promoted() || slices.ContainsFunc(s.Pods, func(pod corev1.Pod) bool { return render.IsSelected(&pod) })) {
		return false
	}
	var owners []metav1.OwnerReference
	for i := range s.Standby {
		owners = append(owners, s.Standby[i].OwnerReferences...)
	}
	for i := range s.Pods {
		owners = append(owners, s.Pods[i].OwnerReferences...)
	}
	return slices.ContainsFunc(s.Policies, func(policy criticalv2.CriticalService) bool {
		return policy.DeletionTimestamp == nil && protection.SelectorProblem(&policy) != nil &&
			slices.ContainsFunc(owners, func(owner metav1.OwnerReference) bool { return owner.UID == policy.UID })
	})
}

func optedOut(service *corev1.Service) bool {
	return service.Annotations[criticalv2.AnnotationCriticalService] == criticalv2.OptOut
}

// governor is the first matching CriticalService by name.
func (s *Snapshot) governor() *criticalv2.CriticalService {
	var first *criticalv2.CriticalService
	for i := range s.Policies {
		policy := &s.Policies[i]
		if protection.Matches(policy, s.Service, s.NamespaceLabels) && (first == nil || policy.Name < first.Name) {
			first = policy
		}
	}
	return first
}

// others are the CriticalServices that match beside the one that governs, by name.
func (s *Snapshot) others(governor *criticalv2.CriticalService) []*criticalv2.CriticalService {
	var others []*criticalv2.CriticalService
	for i := range s.Policies {
		policy := &s.Policies[i]
		if policy.Name != governor.Name && protection.Matches(policy, s.Service, s.NamespaceLabels) {
			others = append(others, policy)
		}
	}
	slices.SortFunc(others, func(a, b *criticalv2.CriticalService) int { return strings.Compare(a.Name, b.Name) })
	return others
}

// ignored says why a Service cannot or must not be protected; the reason is
// empty where it can.
func ignored(service *corev1.Service, c choice) (reason, message string) {
	switch {
	case service.DeletionTimestamp != nil:
		return criticalv2.ReasonTerminating, "The Service is being deleted."
	case protection.OptedOut(service):
		return criticalv2.ReasonOptedOut, "The Service's owner opted out with the annotation " +
			criticalv2.AnnotationCriticalService + ": " + criticalv2.OptOut + "."
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return criticalv2.ReasonExternalName, "A Service of type ExternalName is a DNS alias and has no endpoints to fall back for."
	case len(service.Spec.Selector) == 0:
		return criticalv2.ReasonNoSelector, "The Service has no selector, so no fallback Pod can become its endpoint."
	}
	if c.kind == criticalv2.FallbackKindPage && !slices.ContainsFunc(service.Spec.Ports, protection.IsTCP) {
		return criticalv2.ReasonNoTCPPort, "The Service has no TCP port, and the page answers TCP only: use a podTemplate or service fallback."
	}
	for key := range service.Spec.Selector {
		if strings.HasPrefix(key, criticalv2.ReservedPrefix) {
			return criticalv2.ReasonReservedSelector, "The Service's selector uses a label under " + criticalv2.ReservedPrefix +
				", which is reserved for fallbacks; select the application's Pods by a label of their own."
		}
	}
	return "", ""
}
