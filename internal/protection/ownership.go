package protection

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// IsStandby reports whether an EndpointSlice is one that the operator publishes.
func IsStandby(slice metav1.Object) bool {
	return slice.GetLabels()[discoveryv1.LabelManagedBy] == criticalv2.ManagedBy
}

// BelongsTo reports whether a standby slice or a fallback Pod is there for a policy.
func BelongsTo(fallback, policy metav1.Object) bool {
	return slices.ContainsFunc(fallback.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == policy.GetUID() })
}

// IsOfPage reports whether an EndpointSlice is one that the operator publishes for a page:
// one that asks for the responder, or one that publishes a Pod of it.
func IsOfPage(slice metav1.Object) bool {
	return IsStandby(slice) && slice.GetLabels()[criticalv2.LabelFallbackKind] == criticalv2.FallbackKindPage
}

// MadeByOperator reports whether an EndpointSlice was made by the operator though its
// labels may have been taken off: it carries the operator's label, or belongs to a policy,
// which only the operator sets as an owner.
func MadeByOperator(slice metav1.Object) bool {
	owner := metav1.GetControllerOf(slice)
	return IsStandby(slice) || owner != nil && IsPolicy(*owner)
}

// IsPolicy reports whether an owner is a CriticalService or a ServiceFallback, of whatever
// version.
func IsPolicy(owner metav1.OwnerReference) bool {
	group, _, _ := strings.Cut(owner.APIVersion, "/")
	return group == criticalv2.GroupVersion.Group &&
		(owner.Kind == criticalv2.CriticalServiceKind.Kind || owner.Kind == criticalv2.ServiceFallbackKind.Kind)
}

// IsFallback reports whether a Pod is a fallback that the operator made. Its
// controller decides: only the operator sets a policy as one, and a Pod of
// any other controller is not ours, whatever labels were copied onto it. A Pod
// without a controller is known by its marks: `kubectl delete --cascade=orphan` and
// restored backups take the owner away.
func IsFallback(pod metav1.Object) bool {
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return IsPolicy(*owner)
	}
	return pod.GetLabels()[criticalv2.LabelFallbackFor] != "" && pod.GetAnnotations()[criticalv2.AnnotationOwned] == criticalv2.Owned
}

// IsResponder reports whether a Pod is one of the responder's. Its controller is a
// ReplicaSet, of whose names the Deployment's is the prefix: labels alone may have
// been copied. They decide for a Pod without a controller.
func IsResponder(pod metav1.Object) bool {
	owner := metav1.GetControllerOf(pod)
	madeByDeployment := owner == nil || owner.Kind == "ReplicaSet" && strings.HasPrefix(owner.Name, criticalv2.ResponderName+"-")
	return madeByDeployment && pod.GetLabels()[criticalv2.LabelResponder] == criticalv2.ResponderServer
}

// IsOurs reports whether the operator made a Pod: a fallback or a responder.
func IsOurs(pod metav1.Object) bool { return IsFallback(pod) || IsResponder(pod) }

// Ours are the Pods of a namespace that the operator made. They distinguish its
// endpoints from those of an application.
type Ours struct {
	pods map[types.UID]bool
	// name is that of the Service's fallback Pod, which a slice may list for a while
	// after the Pod has gone.
	name string
	// conflicting is a Pod of that name that was looked up and is none of ours.
	conflicting types.UID
}

// OursAmong are the fallbacks and responders among the Pods of a namespace.
func OursAmong(pods []corev1.Pod) Ours {
	ours := Ours{pods: map[types.UID]bool{}}
	for i := range pods {
		if IsOurs(&pods[i]) {
			ours.pods[pods[i].UID] = true
		}
	}
	return ours
}

// OursOf are the Pods with these UIDs, and the Pod with the name that the fallback
// of the Service has or would get, unless it was looked up and is the one with the
// UID conflicting.
func OursOf(fallbackName string, conflicting types.UID, uids ...types.UID) Ours {
	ours := Ours{pods: make(map[types.UID]bool, len(uids)), name: fallbackName, conflicting: conflicting}
	for _, uid := range uids {
		ours.pods[uid] = true
	}
	return ours
}

// Has reports whether a Pod is one of ours, by its UID.
func (o Ours) Has(uid types.UID) bool { return o.pods[uid] }

// Lists reports whether an endpoint is one of our Pods.
func (o Ours) Lists(endpoint *discoveryv1.Endpoint) bool {
	ref := endpoint.TargetRef
	if ref == nil || ref.Kind != "Pod" {
		return false
	}
	if o.pods[ref.UID] {
		return true
	}
	return o.name != "" && ref.Name == o.name && (o.conflicting == "" || ref.UID != o.conflicting)
}
