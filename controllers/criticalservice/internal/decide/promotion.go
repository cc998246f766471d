package decide

import (
	"time"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
)

// phase is how the standby slices are published.
type phase struct {
	// promoted makes the endpoints ready.
	promoted bool
	notes    render.Notes
	// left is how long the delay still runs; 0 or less if none does.
	left time.Duration
}

// phaseOf reports whether the standby is to be promoted: after an outage of
// activationDelay, until a recovery of deactivationDelay. An outage that is
// announced waits for no delay. When a delay began stands on the slices, because
// nothing is kept in memory.
func phaseOf(f *facts) phase {
	activation := f.governor.Protection().ActivationDelay.Duration
	if f.maintenance != nil {
		activation = 0
	}
	switch {
	case f.up():
		deactivation := f.governor.Protection().DeactivationDelay.Duration
		if !f.promoted || deactivation == 0 {
			return phase{}
		}
		// The note stays until all slices are seen demoted. Without it, one whose write failed or is not seen yet would begin
		// another delay, in which the others are promoted again.
		since, left := f.delay(criticalv2.AnnotationRecoveredSince, deactivation)
		return phase{promoted: left > 0, notes: render.Notes{RecoveredSince: since}, left: left}
	case f.unknown():
		// Nothing changes. An outage may go on all the while, and a recovery is not known to.
		return phase{promoted: f.promoted, notes: render.Notes{OutageSince: f.noted(criticalv2.AnnotationOutageSince)}}
	case activation == 0:
		return phase{promoted: true}
	default:
		// The note stays for the whole outage: a slice that for a while has no
		// endpoint cannot show that it was promoted.
		since, left := f.delay(criticalv2.AnnotationOutageSince, activation)
		if f.promoted {
			left = 0
		}
		return phase{promoted: left <= 0, notes: render.Notes{OutageSince: since}, left: left}
	}
}

// noted is the earliest time that an annotation of the standby slices has; zero if none has one, or a future one.
func (s *Snapshot) noted(annotation string) time.Time {
	var earliest time.Time
	for i := range s.Standby {
		at, err := time.Parse(time.RFC3339Nano, s.Standby[i].Annotations[annotation])
		if err == nil && !at.After(s.Now) && (earliest.IsZero() || at.Before(earliest)) {
			earliest = at
		}
	}
	return earliest
}

// delay is when a delay began, as an annotation notes it or else now, and how long it still runs.
func (s *Snapshot) delay(annotation string, whole time.Duration) (since time.Time, left time.Duration) {
	since = s.noted(annotation)
	if since.IsZero() {
		since = s.Now
	}
	return since, since.Add(whole).Sub(s.Now)
}
