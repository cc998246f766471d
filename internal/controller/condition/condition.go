// Package condition reads and sets conditions by the Kubernetes API conventions.
package condition

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/critical-service/operator/internal/text"
)

// MaxMessage keeps messages, of which others write parts, far below what a condition takes.
const MaxMessage = 1024

// Message is a message within MaxMessage, without space around it.
func Message(message string) string { return text.Shorten(strings.TrimSpace(message), MaxMessage) }

// List is the conditions of an object, for one generation of its spec.
type List struct {
	// Conditions is what the status holds.
	Conditions *[]metav1.Condition
	// Generation is the generation that the conditions are about.
	Generation int64
	// Now is the time of a transition.
	Now metav1.Time
}

// Set sets one condition to True or False. Its transition time changes only with
// its status.
func (l List) Set(kind string, is bool, reason, message string) {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	l.set(kind, status, reason, message)
}

// SetUnknown sets one condition to Unknown.
func (l List) SetUnknown(kind, reason, message string) {
	l.set(kind, metav1.ConditionUnknown, reason, message)
}

// Remove removes one condition, if it is there.
func (l List) Remove(kind string) { meta.RemoveStatusCondition(l.Conditions, kind) }

func (l List) set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(l.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: l.Generation, LastTransitionTime: transition(*l.Conditions, kind, status, l.Now),
	})
}

func transition(conditions []metav1.Condition, kind string, status metav1.ConditionStatus, now metav1.Time) metav1.Time {
	if old := meta.FindStatusCondition(conditions, kind); old != nil && old.Status == status {
		return old.LastTransitionTime
	}
	return now
}
