package decide

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Snapshot is all that matters about one maintenance, at one moment.
type Snapshot struct {
	Now time.Time
	// Config announces the maintenance; nil if it is gone.
	Config *corev1.ConfigMap
	// Answers tells whether the Service has a ready endpoint of its own. It is looked
	// at only once the maintenance is over.
	Answers bool
	// Scale is what the workload has now. It is looked at only once the maintenance is
	// over, and nil where there is no such workload any more.
	Scale *Scale
	// Unreadable says why the scale could not be read.
	Unreadable string
	// Elder is the name of an older ConfigMap that owes the same workload something. It
	// is looked at only once the maintenance is over.
	Elder string
}

// Scale is how many replicas a workload is to have.
type Scale struct {
	Replicas int32
	// Version is the resource version by which it was read.
	Version string
}

// Plan is what is to be done.
type Plan struct {
	// Maintenance is what the ConfigMap says. Of one that is not valid it is what is
	// owed, and nil if nothing is, or nobody can tell.
	Maintenance *criticalv2.Maintenance
	// Invalid says what is wrong with the ConfigMap.
	Invalid string
	// Stuck says what hinders the end of the maintenance, until a person acts.
	Stuck string
	// Restore gives the workload its replicas back.
	Restore bool
	// Settle notes in the ConfigMap that the workload has what it is owed, so that
	// nobody gives it back a second time.
	Settle bool
	// Delete ends the maintenance.
	Delete bool
	// RecheckAfter is when to look again though nothing tells; 0 is never.
	RecheckAfter time.Duration
}

// IsEmpty tells whether the plan writes nothing.
func (p *Plan) IsEmpty() bool { return !p.Restore && !p.Settle && !p.Delete }

// LookAgain is when to look again whether what hinders is gone. No watch tells of a
// permission that was given.
const LookAgain = time.Minute

// Decide says how a maintenance goes on. Before its end there is nothing to do, and
// one without an end is ended by people only. At its end the workload gets back what
// was taken from it; the announcement stays until the application answers, or for
// criticalv2.MaintenanceGrace at the most.
func Decide(s Snapshot) Plan {
	if s.Config == nil || s.Config.DeletionTimestamp != nil || s.Config.Labels[criticalv2.LabelResponder] != criticalv2.ResponderMaintenance {
		return Plan{}
	}
	m, err := criticalv2.ParseMaintenance(s.Config.Data)
	if err != nil {
		return s.settle(err)
	}
	switch {
	case m.Until == nil:
		return Plan{Maintenance: m}
	case !m.IsOver(s.Now):
		return Plan{Maintenance: m, RecheckAfter: m.Until.Sub(s.Now)}
	}
	if hindrance := s.hindrance(m); hindrance != "" {
		return Plan{Maintenance: m, Stuck: hindrance, RecheckAfter: LookAgain}
	}
	return s.end(m)
}

// settle plans what happens to a ConfigMap that is not valid. It announces nothing,
// and people delete it; but what it owes is given back at its end, if both can be read.
func (s *Snapshot) settle(invalid error) Plan {
	plan := Plan{Invalid: invalid.Error()}
	m, err := criticalv2.ParseMaintenanceDebt(s.Config.Name, s.Config.Data)
	if err != nil || m.Workload == nil {
		return plan
	}
	plan.Maintenance = m
	switch {
	case m.Until == nil:
	case !m.IsOver(s.Now):
		plan.RecheckAfter = m.Until.Sub(s.Now)
	default:
		if plan.Stuck = s.hindrance(m); plan.Stuck != "" {
			plan.RecheckAfter = LookAgain
			return plan
		}
		plan.Restore, plan.Settle = s.gives(m), true
	}
	return plan
}

// hindrance says why the operator does not give back what a maintenance owes that is
// over. The debt stands in the ConfigMap only, so that this stays.
//
// The permission to scale a workload is given for one ConfigMap. Another one that names
// the workload too must not make use of it.
func (s *Snapshot) hindrance(m *criticalv2.Maintenance) string {
	name := criticalv2.MaintenanceName(m.Service)
	switch {
	case m.Workload == nil:
		return ""
	case s.Config.Name != name:
		return fmt.Sprintf("a ConfigMap that owes something must have the name that the plugin gives it, here %q", name)
	case s.Elder != "":
		return fmt.Sprintf("ConfigMap %q is older, and owes %s something as well", s.Elder, m.Workload)
	default:
		return s.Unreadable
	}
}

// gives tells whether there is something to give back: the workload had replicas, and
// has none.
func (s *Snapshot) gives(m *criticalv2.Maintenance) bool {
	return m.Workload != nil && m.Workload.Replicas > 0 && s.Scale != nil && s.Scale.Replicas == 0
}

// end plans the end of a maintenance that is over.
func (s *Snapshot) end(m *criticalv2.Maintenance) Plan {
	plan := Plan{Maintenance: m}
	plan.Restore = s.gives(m)
	plan.Delete = m.Silent || m.IsExpired(s.Now) || s.Answers
	plan.Settle = m.Workload != nil && !plan.Delete
	if !plan.Delete {
		plan.RecheckAfter = m.Until.Add(criticalv2.MaintenanceGrace).Sub(s.Now)
	}
	return plan
}
