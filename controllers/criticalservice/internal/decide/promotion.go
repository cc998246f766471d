package decide

import (
	"time"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// phase is how the standby slices are published.
type phase struct {
	// promoted makes the endpoints ready.
	promoted bool
	// outageSince and recoveredSince are to be remembered while a delay runs, and until its end is carried out.
	outageSince, recoveredSince time.Time
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
		return phase{promoted: left > 0, recoveredSince: since, left: left}
	case f.unknown():
		return phase{promoted: f.promoted} // Nothing is known, so nothing changes.
	case activation == 0:
		return phase{promoted: true}
	default:
		// The note stays for the whole outage: a slice that for a while has no
		// endpoint cannot show that it was promoted.
		since, left := f.delay(criticalv2.AnnotationOutageSince, activation)
		if f.promoted {
			left = 0
		}
		return phase{promoted: left <= 0, outageSince: since, left: left}
	}
}

// delay is when a delay began, by an annotation or else now, and how long it
// still runs.
func (s *Snapshot) delay(annotation string, whole time.Duration) (since time.Time, left time.Duration) {
	since = s.Now
	for i := range s.Standby {
		at, err := time.Parse(time.RFC3339Nano, s.Standby[i].Annotations[annotation])
		if err == nil && at.Before(since) {
			since = at
		}
	}
	return since, since.Add(whole).Sub(s.Now)
}
