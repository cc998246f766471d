package v2

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// MaintenanceGrace is how long a maintenance that is over goes on being announced
	// while the application is not back yet.
	MaintenanceGrace = 5 * time.Minute

	// MaxMaintenanceMessage is the greatest length of a message in characters, as that
	// of spec.fallback.page.message.
	MaxMaintenanceMessage = 1024

	// FinalizerRestore keeps a Maintenance that is deleted until the operator has given
	// back what status.owed says. It is there only while something is owed.
	FinalizerRestore = ReservedPrefix + "restore"

	// VerbRestore is the verb that a Role gives the operator on one Maintenance, for one
	// workload (RestoreName), beside get and patch on the scale of that workload. No other
	// right includes it, so that the permission of one Maintenance is not that of another.
	VerbRestore = "restore"
)

// RestoreName is what a Role names in resourceNames for the verb restore, for example
// storefront/deployments.apps/storefront: a Maintenance, and the workload that it may
// restore.
func RestoreName(maintenance string, w *WorkloadReplicas) string {
	return maintenance + "/" + w.String()
}

// Announcement is what clients see of a maintenance.
type Announcement struct {
	// Message is a sentence for people, or empty.
	Message string `json:"message,omitempty"`
	// Until is when the Service is expected back, to the second; nil if that is not known.
	Until *metav1.Time `json:"until,omitempty"`
	// RetryAfterSeconds is what clients are asked to wait; nil is until the end.
	RetryAfterSeconds *int32 `json:"retryAfterSeconds,omitempty"`
}

// Announcement is what clients see of the maintenance, or of its window that runs.
func (m *Maintenance) Announcement() *Announcement {
	return &Announcement{Message: m.Spec.Message, Until: m.End(), RetryAfterSeconds: m.Spec.RetryAfterSeconds}
}

// IsDrill reports whether nothing is announced to clients.
func (m *Maintenance) IsDrill() bool { return m.Spec.Purpose == PurposeDrill }

// IsAbout reports whether the maintenance names a Service.
func (m *Maintenance) IsAbout(service string) bool { return slices.Contains(m.Spec.Services, service) }

// End is when the maintenance, or its window that runs or was last, ends; nil for one
// without an end. The windows are those of the status: only the operator's controller of
// this kind reads schedules.
func (m *Maintenance) End() *metav1.Time {
	if m.Spec.Recurring == nil {
		return m.Spec.Until
	}
	return m.Status.Until
}

// HasBegun reports whether the maintenance, or a window of it, has begun.
func (m *Maintenance) HasBegun(now time.Time) bool {
	if m.DeletionTimestamp != nil {
		return false
	}
	return m.Spec.Recurring == nil || m.Status.Since != nil && m.Status.Until != nil && !now.Before(m.Status.Since.Time)
}

// IsOver reports whether the maintenance, or its window, has reached its end. One
// without an end never does by itself.
func (m *Maintenance) IsOver(now time.Time) bool {
	end := m.End()
	return end != nil && !now.Before(end.Time)
}

// IsExpired reports whether it has been over for so long that the application is no
// longer waited for.
func (m *Maintenance) IsExpired(now time.Time) bool {
	end := m.End()
	return end != nil && !now.Before(end.Add(MaintenanceGrace))
}

// Announces reports whether clients see the maintenance now if the application is away:
// until its end, and a while longer, in which the application comes back.
func (m *Maintenance) Announces(now time.Time) bool {
	return !m.IsDrill() && m.HasBegun(now) && !m.IsExpired(now)
}

// Owes is what is to be restored to a workload: what the operator recorded, or, where
// it has not seen the workload, what the Maintenance says. It is nil if nothing is owed.
func (m *Maintenance) Owes() *WorkloadReplicas {
	switch {
	case m.Status.Owed != nil:
		return m.Status.Owed
	case m.Status.Restored != nil || meta.IsStatusConditionTrue(m.Status.Conditions, MaintenanceRestored):
		return nil
	default:
		return m.Spec.Restore
	}
}

// Resource is the resource of the workload, in the group apps.
func (w *WorkloadReplicas) Resource() string {
	if w.StatefulSet != "" {
		return "statefulsets"
	}
	return "deployments"
}

// Name is the name of the workload.
func (w *WorkloadReplicas) Name() string {
	if w.StatefulSet != "" {
		return w.StatefulSet
	}
	return w.Deployment
}

// String names the workload as kubectl takes it, for example deployments.apps/storefront.
func (w *WorkloadReplicas) String() string { return w.Resource() + ".apps/" + w.Name() }
