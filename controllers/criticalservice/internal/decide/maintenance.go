package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// notice is a ConfigMap about a maintenance of the Service, and what it says.
type notice struct {
	name string
	said *criticalv2.Maintenance
	// invalid says what is wrong with it; then said is nil.
	invalid error
}

func noticesOf(configs []corev1.ConfigMap) []notice {
	notices := make([]notice, 0, len(configs))
	for i := range configs {
		said, err := criticalv2.ParseMaintenance(configs[i].Data)
		if err != nil {
			said = nil
		}
		notices = append(notices, notice{name: configs[i].Name, said: said, invalid: err})
	}
	return notices
}

// announced is the maintenance that is announced now: the first by the name of its
// ConfigMap. One that is over is announced only until the Service answers by itself
// again.
func announced(notices []notice, now time.Time, up bool) *criticalv2.Maintenance {
	for _, n := range notices {
		if n.said != nil && n.said.Announces(now) && !(n.said.IsOver(now) && up) {
			return n.said
		}
	}
	return nil
}

// drilled is the live drill that is under way: a maintenance that is not announced
// to clients.
func drilled(notices []notice, now time.Time) *criticalv2.Maintenance {
	for _, n := range notices {
		if n.said != nil && n.said.Silent && n.said.Workload != nil && !n.said.IsOver(now) {
			return n.said
		}
	}
	return nil
}

// noticesChangeIn is when the next of the notices begins to be over or ignored; 0 is
// never.
func noticesChangeIn(notices []notice, now time.Time) time.Duration {
	var next recheck
	for _, n := range notices {
		switch {
		case n.said == nil || n.said.Until == nil || n.said.IsExpired(now):
		case n.said.IsOver(now):
			next.in(n.said.Until.Add(criticalv2.MaintenanceGrace).Sub(now))
		default:
			next.in(n.said.Until.Sub(now))
		}
	}
	return next.after
}

// IsPlanned reports whether the outage was announced, or is a drill: there is no
// need to look for its cause.
func (p *Plan) IsPlanned() bool { return p.Maintenance != nil || p.Drill != nil }
