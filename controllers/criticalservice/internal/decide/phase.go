package decide

import (
	"slices"
	"time"

	"github.com/critical-service/operator/internal/protection"

	discoveryv1 "k8s.io/api/discovery/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// phase is how the standby slices are published.
type phase struct {
	// promoted makes the endpoints ready.
	promoted bool
	// outageSince and recoveredSince are to be remembered while a delay runs.
	outageSince, recoveredSince time.Time
	// left is how long the delay still runs; 0 if none does.
	left time.Duration
}

// phase finds whether the standby is to be promoted: after an outage of
// activationDelay, until a recovery of deactivationDelay. When a delay began
// stands on the slices, because nothing is kept in memory.
func (s *Snapshot) phase(governor *criticalv2.CriticalService) phase {
	was := s.promoted()
	activation := governor.Spec.ActivationDelay.Duration
	if s.maintenance() != nil {
		activation = 0 // The outage is meant.
	}
	switch {
	case len(s.OwnReady()) > 0:
		if !was {
			return phase{}
		}
		since, left := s.delay(criticalv2.AnnotationRecoveredSince, governor.Spec.DeactivationDelay.Duration)
		if left <= 0 {
			return phase{}
		}
		return phase{promoted: true, recoveredSince: since, left: left}
	case len(s.Slices) == 0:
		return phase{promoted: was} // Nothing is known, so nothing changes.
	case activation == 0:
		return phase{promoted: true}
	default:
		// The note stays for the whole outage: a slice that for a while has no
		// endpoint cannot tell that it was promoted.
		since, left := s.delay(criticalv2.AnnotationOutageSince, activation)
		if was {
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

// promoted tells whether a standby slice has a ready endpoint.
func (s *Snapshot) promoted() bool {
	return slices.ContainsFunc(s.Standby, func(slice discoveryv1.EndpointSlice) bool { return protection.IsPromoted(&slice) })
}

// eachStandby calls f with every endpoint that the operator publishes.
func (s *Snapshot) eachStandby(f func(*discoveryv1.Endpoint)) {
	for i := range s.Standby {
		for j := range s.Standby[i].Endpoints {
			f(&s.Standby[i].Endpoints[j])
		}
	}
}
