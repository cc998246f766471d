package criticalservice

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/reference"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reasons of the events that tell what was done. An event is sent only after the
// write it tells of succeeded. The events that tell what hinders a fallback have
// the reasons of the states.
const (
	// eventFallbackCreated: the Service is down, and a fallback Pod was made.
	eventFallbackCreated = "FallbackCreated"
	// eventFallbackRebound: labels or owner of a fallback Pod were corrected.
	eventFallbackRebound = "FallbackRebound"
	// eventFallbackReleased: the Service has recovered, and the fallback Pod left it.
	eventFallbackReleased = "FallbackReleased"
	// eventFallbackRemoved: a fallback Pod was deleted; the note says why.
	eventFallbackRemoved = "FallbackRemoved"
)

// announcer sends events.
type announcer struct {
	recorder events.EventRecorder
	scheme   *runtime.Scheme
}

// tell sends one event. Related may be nil.
func (a *announcer) tell(regarding, related client.Object, kind, reason, action, note string, args ...any) {
	a.recorder.Eventf(a.reference(regarding), a.reference(related), kind, reason, action, note, args...)
}

// reference names an object without its resource version, which changes with
// every status: the same event about the same object is then counted, and not
// stored again each time.
func (a *announcer) reference(object client.Object) runtime.Object {
	if object == nil {
		return nil
	}
	ref, err := reference.GetReference(a.scheme, object)
	if err != nil {
		return object // The recorder says what is wrong with it.
	}
	return &corev1.ObjectReference{
		APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, UID: ref.UID,
	}
}
