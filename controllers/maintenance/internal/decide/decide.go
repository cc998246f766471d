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
	// Answers reports whether the Service has a ready endpoint of its own. It is read
	// only once the maintenance is over.
	Answers bool
	// Scale is what the workload has now. It is read only once the maintenance is over,
	// and nil where there is no such workload any more.
	Scale *Scale
	// Unreadable says why the scale could not be read.
	Unreadable string
	// OlderOwner is the name of an older ConfigMap that owes the same workload something.
	// It is read only once the maintenance is over.
	OlderOwner string
}

// Scale is how many replicas a workload is to have.
type Scale struct {
	Replicas int32
	// Version is the resource version by which it was read.
	Version string
}

// Plan is what is to be done.
type Plan struct {
	// Maintenance is what the ConfigMap says. Of an invalid one it is what is owed, and
	// nil if nothing is, or it is not known.
	Maintenance *criticalv2.Maintenance
	// Invalid says what is wrong with the ConfigMap.
	Invalid string
	// Stuck says what blocks the end of the maintenance, until a person acts.
	Stuck string
	// Restore gives the workload its replicas back.
	Restore bool
	// ClearDebt records in the ConfigMap that the workload has what it is owed, so that
	// it is not given back a second time.
	ClearDebt bool
	// Delete ends the maintenance.
	Delete bool
	// RecheckAfter is when to check again without an event; 0 is never.
	RecheckAfter time.Duration
}

// IsEmpty reports whether the plan writes nothing.
func (p *Plan) IsEmpty() bool { return !p.Restore && !p.ClearDebt && !p.Delete }

// RetryInterval is when to retry what was blocked: no watch reports that a permission
// was granted.
const RetryInterval = time.Minute

// Decide decides how a maintenance goes on. Before its end there is nothing to do, and
// one without an end is ended by users only. At its end the workload gets its replicas
// back; the announcement stays until the application answers, or for
// criticalv2.MaintenanceGrace at the most.
func Decide(s Snapshot) Plan {
	if s.Config == nil || s.Config.DeletionTimestamp != nil || s.Config.Labels[criticalv2.LabelResponder] != criticalv2.ResponderMaintenance {
		return Plan{}
	}
	m, err := criticalv2.ParseMaintenance(s.Config.Data)
	if err != nil {
		return s.decideInvalid(err)
	}
	switch {
	case m.Until == nil:
		return Plan{Maintenance: m}
	case !m.IsOver(s.Now):
		return Plan{Maintenance: m, RecheckAfter: m.Until.Sub(s.Now)}
	}
	if problem := s.problem(m); problem != "" {
		return Plan{Maintenance: m, Stuck: problem, RecheckAfter: RetryInterval}
	}
	return s.end(m)
}

// decideInvalid plans what happens to an invalid ConfigMap. It announces nothing, and
// is deleted by users; but what it owes is given back at its end, if both can be read.
func (s *Snapshot) decideInvalid(invalid error) Plan {
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
		if plan.Stuck = s.problem(m); plan.Stuck != "" {
			plan.RecheckAfter = RetryInterval
			return plan
		}
		plan.Restore, plan.ClearDebt = s.owes(m), true
	}
	return plan
}

// problem says why the operator does not give back what a maintenance owes that is
// over. The debt is recorded in the ConfigMap only, so that the ConfigMap is kept.
//
// The permission to scale a workload is granted for one ConfigMap. Another one that
// names the workload too must not use it.
func (s *Snapshot) problem(m *criticalv2.Maintenance) string {
	name := criticalv2.MaintenanceName(m.Service)
	switch {
	case m.Workload == nil:
		return ""
	case s.Config.Name != name:
		return fmt.Sprintf("a ConfigMap that restores a workload must be named %q", name)
	case s.OlderOwner != "":
		return fmt.Sprintf("ConfigMap %q is older and restores %s as well", s.OlderOwner, m.Workload)
	default:
		return s.Unreadable
	}
}

// owes reports whether there is something to give back: the workload had replicas, and
// has none.
func (s *Snapshot) owes(m *criticalv2.Maintenance) bool {
	return m.Workload != nil && m.Workload.Replicas > 0 && s.Scale != nil && s.Scale.Replicas == 0
}

// end plans the end of a maintenance that is over.
func (s *Snapshot) end(m *criticalv2.Maintenance) Plan {
	plan := Plan{Maintenance: m}
	plan.Restore = s.owes(m)
	plan.Delete = m.Silent || m.IsExpired(s.Now) || s.Answers
	plan.ClearDebt = m.Workload != nil && !plan.Delete
	if !plan.Delete {
		plan.RecheckAfter = m.Until.Add(criticalv2.MaintenanceGrace).Sub(s.Now)
	}
	return plan
}
