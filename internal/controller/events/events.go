// Package events sends events about objects of the cluster.
//
// Events are written in the background, and never in the way of what they report.
// What happens again is counted: see Recorder.
package events

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/reference"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Emitter sends events.
type Emitter struct {
	Recorder events.EventRecorder
	Scheme   *runtime.Scheme
}

// Emit sends one event. Related may be nil.
func (e *Emitter) Emit(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	e.Recorder.Eventf(e.about(regarding), e.about(related), kind, reason, action, note, args...)
}

// about names an object without its resource version, which changes with every
// status: the same event about the same object is then counted, and not stored
// again each time. A reference is taken as it is.
func (e *Emitter) about(object runtime.Object) runtime.Object {
	if _, isObject := object.(client.Object); !isObject {
		return object
	}
	ref, err := reference.GetReference(e.Scheme, object)
	if err != nil {
		return object // The recorder says what is wrong with it.
	}
	return &corev1.ObjectReference{
		APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, UID: ref.UID,
	}
}
