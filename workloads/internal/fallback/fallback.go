// Package fallback protects the Services that a workload makes: each is born with a
// ServiceFallback of its name, which the core honours.
//
// The ServiceFallback is all that the two operators have in common. Where the core is not
// installed, a workload runs without one, and says so.
package fallback

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/drift"
	"github.com/critical-service/operator/internal/controller/fault"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/internal/ownership"
)

// +kubebuilder:rbac:groups=mycrd.com,resources=servicefallbacks,verbs=get;list;watch;create;patch;delete,roleName=critical-service-workloads-namespaces

// Seen is what is known of the protection of one Service.
type Seen struct {
	// Served reports whether the API server serves ServiceFallbacks.
	Served bool
	// Object is the ServiceFallback of the Service's name; nil if there is none, or it could
	// not be read.
	Object *criticalv2.ServiceFallback
	// Refused says why the API server did not let it be read or written, and what to do; empty
	// where it did.
	Refused string
	// Failed reports whether that is a failure of the API server, which may pass.
	Failed bool
}

// For makes the ServiceFallback of a Service that belongs to a workload; nil where nothing
// is to answer. Wanted may be nil: that is the page. The Service's labels say whose it is.
func For(service metav1.Object, owner *ownership.Owner, wanted *workloadsv1.ServiceProtection) *criticalv2.ServiceFallback {
	answers := criticalv2.Fallback{Page: &criticalv2.PageFallback{}}
	if wanted != nil {
		if wanted.None != nil {
			return nil
		}
		answers = criticalv2.Fallback{Page: wanted.Page, PodTemplate: wanted.PodTemplate, Service: wanted.Service}
	}
	made := &criticalv2.ServiceFallback{
		TypeMeta: metav1.TypeMeta{APIVersion: criticalv2.GroupVersion.String(), Kind: criticalv2.ServiceFallbackKind.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.GetNamespace(), Name: service.GetName(), Labels: service.GetLabels(),
			OwnerReferences: []metav1.OwnerReference{owner.Reference},
		},
		Spec: criticalv2.ServiceFallbackSpec{
			Services:       []string{service.GetName()},
			ProtectionSpec: criticalv2.ProtectionSpec{Fallback: answers},
		},
	}
	made.Annotations = map[string]string{workloadsv1.AnnotationApplied: drift.Hash(made.Spec)}
	return made
}

// Change is what has to be written of the ServiceFallback.
type Change struct {
	// Apply is the object as it is to be; nil if it is so.
	Apply *criticalv2.ServiceFallback
	// Remove is the object that has to go; nil if none has.
	Remove *criticalv2.ServiceFallback
}

// ChangeOf compares what is wanted, nil for nothing, with what is there. Another's object is
// left alone.
func (s *Seen) ChangeOf(wanted *criticalv2.ServiceFallback, owner *ownership.Owner) Change {
	switch {
	case !s.Served || s.Refused != "" || s.isTaken(owner):
		return Change{}
	case wanted == nil && s.Object != nil && s.Object.DeletionTimestamp == nil:
		return Change{Remove: s.Object}
	case wanted != nil && (s.Object == nil || !drift.Covers(s.Object, wanted)):
		return Change{Apply: wanted}
	default:
		return Change{}
	}
}

func (s *Seen) isTaken(owner *ownership.Owner) bool {
	return s.Object != nil && !owner.IsOurs(s.Object)
}

// IsEarlier reports whether the object is of an earlier workload of the name, and about to go
// with it.
func (s *Seen) IsEarlier(owner *ownership.Owner) bool {
	return s.isTaken(owner) && owner.IsEarlier(s.Object)
}

// Refuse keeps why the API server did not let the ServiceFallback be read or written, with what
// to do about it.
func (s *Seen) Refuse(err error) {
	s.Refused, s.Failed = fault.Refusal(err, "Have it allowed: admission policy, permission."), fault.IsServerFailure(err)
}

// Protection is what the condition Protected says.
type Protection struct {
	Is              bool
	Reason, Message string
}

// Protected says whether a fallback would answer for a Service. Wanted is nil where nothing
// is to answer.
func (s *Seen) Protected(service metav1.Object, wanted *criticalv2.ServiceFallback, owner *ownership.Owner) Protection {
	switch {
	case wanted == nil:
		return Protection{Reason: workloadsv1.ReasonFallbackNone, Message: "Nothing answers while the Service does not: spec.fallback.none says so."}
	case !s.Served:
		return Protection{
			Reason: workloadsv1.ReasonFallbackUnavailable,
			Message: "Nothing answers while the Service does not, because this cluster serves no ServiceFallbacks: " +
				"install critical-service-operator, or set spec.fallback.none to do without.",
		}
	case s.IsEarlier(owner):
		return pending(service)
	case s.isTaken(owner):
		return Protection{
			Reason: workloadsv1.ReasonNameTaken,
			Message: fmt.Sprintf("ServiceFallback %q belongs to another user, and is left alone: delete or rename it, or set spec.fallback.none.",
				service.GetName()),
		}
	case s.Refused != "":
		return Protection{Reason: workloadsv1.ReasonCreateDenied, Message: fmt.Sprintf(
			"The API server refuses ServiceFallback %q: %s Or set spec.fallback.none to do without.", service.GetName(), s.Refused)}
	case s.Object == nil:
		return pending(service)
	default:
		return s.said(service)
	}
}

func pending(service metav1.Object) Protection {
	return Protection{
		Reason:  workloadsv1.ReasonFallbackPending,
		Message: fmt.Sprintf("critical-service-operator has not looked at ServiceFallback %q yet: if it stays so, see whether it runs.", service.GetName()),
	}
}

// said is what the core says of the Service: of itself or, where it does not list it, of the
// ServiceFallback as a whole.
func (s *Seen) said(service metav1.Object) Protection {
	status := &s.Object.Status
	if status.ObservedGeneration != s.Object.Generation {
		return pending(service)
	}
	if detail := status.DetailOf(service.GetNamespace(), service.GetName()); detail != nil {
		return Protection{
			Is:     detail.State == criticalv2.StateArmed || detail.State == criticalv2.StateCovered,
			Reason: detail.Reason, Message: detail.Message,
		}
	}
	if ready := meta.FindStatusCondition(status.Conditions, criticalv2.ConditionReady); ready != nil && ready.Status == metav1.ConditionFalse {
		return Protection{Reason: ready.Reason, Message: ready.Message}
	}
	return pending(service)
}
