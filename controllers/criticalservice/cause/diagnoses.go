package cause

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/diagnosis"
)

// Diagnoses are the searches for the cause of outages: one for each Service in
// outage. They are kept in memory only, because each look starts from the beginning:
// what was found is in the status.
type Diagnoses struct {
	// after is how long after the beginning of an outage its cause is looked for
	// first, so that this is never in the way of a failover; 0 is never.
	after  time.Duration
	memory *memory.Memory
	waker  *queue.Waker
}

// NewDiagnoses makes the searches, which begin some time after an outage does.
func NewDiagnoses(after time.Duration, known *memory.Memory) *Diagnoses {
	return &Diagnoses{after: after, memory: known, waker: queue.NewWaker(after)}
}

// Follow begins a search when an outage begins, and ends it with the outage. It
// never waits, however many begin at once.
func (d *Diagnoses) Follow(key types.NamespacedName, plan decide.Plan) {
	if d.after <= 0 {
		return
	}
	if !inOutage(plan) {
		d.memory.Diagnoses.Delete(key)
		return
	}
	begins := false
	d.memory.Diagnoses.Update(key, func(last *memory.Diagnosis) *memory.Diagnosis {
		if begins = last == nil; begins {
			return &memory.Diagnosis{}
		}
		return last
	})
	if begins {
		d.waker.Wake(key)
	}
}

// replace stores what a look made of a search, and reports whether it is still the
// same: the outage may have ended meanwhile.
func (d *Diagnoses) replace(key types.NamespacedName, last, next *memory.Diagnosis) bool {
	return d.memory.Diagnoses.Update(key, func(now *memory.Diagnosis) *memory.Diagnosis {
		if now == last {
			return next
		}
		return now
	}) == next
}

// intervals are those between two looks of one search; the last one stays.
var intervals = []time.Duration{2 * time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute}

// again is the time between two looks of all peers together: in a mass failure each looks
// again the later, the more there are, and after latest at the latest.
const (
	again  = 100 * time.Millisecond
	latest = 5 * time.Minute
)

// isLong reports whether a search has come to its last interval.
func isLong(d *memory.Diagnosis) bool { return d.Looks >= len(intervals)-1 }

// peers returns how many searches share their looks with this one: outages that last for
// long do not delay what is found of new ones, and planned ones read nothing.
func (d *Diagnoses) peers(of *memory.Diagnosis) int {
	if of.Planned {
		return 0
	}
	return d.memory.Diagnoses.Count(func(other *memory.Diagnosis) bool {
		return !other.Planned && isLong(other) == isLong(of)
	})
}

// looked counts a look, and returns how long it is until the next one, where a search
// has so many peers.
func looked(d *memory.Diagnosis, now time.Time, peers int) time.Duration {
	interval := max(intervals[min(d.Looks, len(intervals)-1)], min(time.Duration(peers)*again, latest))
	d.Looks++
	d.Next = now.Add(interval)
	return interval
}

// unspoken are the causes without an event: that nothing was found, and what is as it
// should be.
var unspoken = []string{criticalv2.CauseNotFound, criticalv2.CausePodsStarting}

// learn takes the cause that a look found, and reports whether it is worth an event:
// each reason is, once in an outage, unless the operator before this one reported it,
// which the status shows. A cause is the same whatever a program writes about it.
func learn(d *memory.Diagnosis, found diagnosis.Diagnosis, inStatus *criticalv2.OutageCause) bool {
	if d.Found == nil || !d.Found.Same(found) {
		d.Found, d.Cause = &found, &found.OutageCause
	}
	if d.Reported == nil {
		d.Reported = []string{}
		if inStatus != nil {
			d.Reported = []string{inStatus.Reason}
		}
	}
	if slices.Contains(d.Reported, found.Reason) || slices.Contains(unspoken, found.Reason) {
		return false
	}
	d.Reported = append(slices.Clone(d.Reported), found.Reason)
	return true
}

// inOutage reports whether a Service has no ready endpoint of its own.
func inOutage(plan decide.Plan) bool {
	return plan.State == criticalv2.StateExposed || plan.State == criticalv2.StateCovered
}
