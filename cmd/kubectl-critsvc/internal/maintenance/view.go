package maintenance

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
)

// View is the document of `maintenance list`.
type View struct {
	Maintenances []Item `json:"maintenances"`
}

// Item is one maintenance.
type Item struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Services  []string `json:"services"`
	// Active reports whether it is announced now, or the drill is under way; Reason is why.
	Active  bool   `json:"active"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Until is when it, or its window, ends, and Next when the next window begins.
	Until     *time.Time            `json:"until,omitempty"`
	Next      *time.Time            `json:"next,omitempty"`
	Recurring *criticalv2.Recurring `json:"recurring,omitempty"`
	// Workload gets, or got, Replicas back; Restored is what became of that.
	Workload string `json:"workload,omitempty"`
	Replicas int32  `json:"replicas,omitempty"`
	Restored string `json:"restored,omitempty"`
	// State is that of the Service, as the operator says it, where there is one only.
	State string `json:"state,omitempty"`
	// Problem is why it does not do what it says.
	Problem string `json:"problem,omitempty"`
}

func viewOf(maintenances []criticalv2.Maintenance, policies []criticalv2.Policy) *View {
	view := &View{Maintenances: []Item{}}
	for i := range maintenances {
		m := &maintenances[i]
		item := itemOf(m)
		if len(m.Spec.Services) == 1 {
			if status := access.StatusIn(policies, types.NamespacedName{Namespace: m.Namespace, Name: m.Spec.Services[0]}); status != nil {
				item.State = string(status.State)
			}
		}
		view.Maintenances = append(view.Maintenances, item)
	}
	slices.SortFunc(view.Maintenances, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return view
}

func itemOf(m *criticalv2.Maintenance) Item {
	item := Item{
		Namespace: m.Namespace, Name: m.Name, Services: m.Spec.Services, Message: m.Spec.Message, Recurring: m.Spec.Recurring,
		Until: timeOf(m.End()), Next: timeOf(m.Status.Next),
	}
	if workload := cmp.Or(m.Owes(), m.Status.Restored, m.Spec.Restore); workload != nil {
		item.Workload, item.Replicas = workload.String(), workload.Replicas
	}
	if restored := meta.FindStatusCondition(m.Status.Conditions, criticalv2.MaintenanceRestored); restored != nil {
		item.Restored = restored.Reason
		if restored.Reason == criticalv2.RestoreFailed || restored.Reason == criticalv2.RestoreNotPermitted {
			item.Problem = restored.Message
		}
	}
	active := meta.FindStatusCondition(m.Status.Conditions, criticalv2.MaintenanceActive)
	switch {
	case active == nil, m.Status.ObservedGeneration < m.Generation:
		item.Problem = "the operator has not seen it yet: it does not run, or does not watch this namespace (see `kubectl critsvc doctor`)"
	case active.Reason == criticalv2.MaintenanceScheduleInvalid:
		item.Problem = active.Message
	}
	if active != nil {
		item.Active, item.Reason = active.Status == metav1.ConditionTrue, active.Reason
	}
	if item.Reason == criticalv2.MaintenanceScheduled {
		item.Until = nil // It is that of the last window.
	}
	return item
}

func timeOf(at *metav1.Time) *time.Time {
	if at == nil {
		return nil
	}
	return &at.Time
}
