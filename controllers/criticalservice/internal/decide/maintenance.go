package decide

import (
	"time"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// announced is the maintenance that is announced now: the first by name. One that is
// over is announced only until the Service answers by itself again.
func announced(all []criticalv2.Maintenance, now time.Time, up bool) *criticalv2.Maintenance {
	for i := range all {
		if m := &all[i]; m.Announces(now) && !(m.IsOver(now) && up) {
			return m
		}
	}
	return nil
}

// drilled is the live drill that is under way: one that takes the application away.
func drilled(all []criticalv2.Maintenance, now time.Time) *criticalv2.Maintenance {
	for i := range all {
		if m := &all[i]; m.IsDrill() && m.Spec.Restore != nil && m.HasBegun(now) && !m.IsOver(now) {
			return m
		}
	}
	return nil
}

// maintenancesChangeIn is when the next of the maintenances begins to be over or ignored;
// 0 is never. That a window begins is seen by the status, which says it.
func maintenancesChangeIn(all []criticalv2.Maintenance, now time.Time) time.Duration {
	var next recheck
	for i := range all {
		m := &all[i]
		switch end := m.End(); {
		case end == nil || !m.HasBegun(now) || m.IsExpired(now):
		case m.IsOver(now):
			next.in(end.Add(criticalv2.MaintenanceGrace).Sub(now))
		default:
			next.in(end.Sub(now))
		}
	}
	return next.after
}

// IsPlanned reports whether the outage was announced, or is a drill: there is no
// need to look for its cause.
func (p *Plan) IsPlanned() bool { return p.Maintenance != nil || p.Drill != nil }
