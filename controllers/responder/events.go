package responder

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Reasons of the events. A write is reported after it succeeded. A name conflict has
// the reason of the states, NameTaken.
const (
	// eventResponderCreated: a namespace got its responder.
	eventResponderCreated = "ResponderCreated"
	// eventResponderUpdated: the Deployment was changed, which rolls its Pods.
	eventResponderUpdated = "ResponderUpdated"
	// eventResponderRemoved: nothing asks for the responder any more.
	eventResponderRemoved = "ResponderRemoved"
	// eventResponderDenied: the API server denies an object of the responder.
	eventResponderDenied = "ResponderDenied"
	// eventRolloutWaits: the Pods of a namespace stay those of another version until
	// others have come up with the operator's.
	eventRolloutWaits = "ResponderRolloutWaits"
	// eventRolloutStopped: no namespace gets the operator's version of the Pods, as
	// those that went first do not come up.
	eventRolloutStopped = "ResponderRolloutStopped"
	// eventImageUnknown: the responder cannot be created, as its image is not known.
	eventImageUnknown = "ResponderImageUnknown"
	// eventNoListenerLeft: the responder has no port left for a Service.
	eventNoListenerLeft = "NoListenerLeft"
)

// owner names a policy that asks for the responder of a namespace: a CriticalService has none.
func owner(ref metav1.OwnerReference, namespace string) runtime.Object {
	named := &corev1.ObjectReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID}
	if isTeams(ref) {
		named.Namespace = namespace
	}
	return named
}

// firstOwner names the first of them, or nothing.
func firstOwner(owners []metav1.OwnerReference, namespace string) runtime.Object {
	if len(owners) == 0 {
		return nil
	}
	return owner(owners[0], namespace)
}

// isTeams reports whether an owner is the object of a team.
func isTeams(ref metav1.OwnerReference) bool { return ref.Kind == criticalv2.ServiceFallbackKind.Kind }
