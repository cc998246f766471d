// Package recheck says when to look again at what no watch reports.
package recheck

import (
	"hash/fnv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Bounds are the shortest and the longest time between two looks.
type Bounds struct{ Shortest, Longest time.Duration }

// After is how long to wait where something has been so for a time: as long again, within the
// bounds, so that what is new is looked at soon, and then ever more seldom. To that comes up to
// half as much by the object's UID, so that many objects do not come at once.
func (b Bounds) After(age time.Duration, object types.UID) time.Duration {
	wait := min(max(age, b.Shortest), b.Longest)
	spread := fnv.New32a()
	_, _ = spread.Write([]byte(object)) // It never fails.
	return wait + wait*time.Duration(spread.Sum32()%256)/512
}

// Unwatched bounds the looks at what no watch reports: Secrets, objects of others, and what the API
// server would accept by now.
var Unwatched = Bounds{Shortest: 2 * time.Second, Longest: 5 * time.Minute}

// Earlier is when to check again, of two times to wait; what is not positive is never.
func Earlier(after, wait time.Duration) time.Duration {
	if wait > 0 && (after <= 0 || wait < after) {
		return wait
	}
	return after
}

// Ages are, by the type of a condition, its reason and since when it has that reason.
type Ages map[string]since

type since struct {
	reason string
	at     time.Time
}

// Of is how long a condition has had a reason: zero if it gets it only now.
func (a Ages) Of(conditionType, reason string, now time.Time) time.Duration {
	if known, found := a[conditionType]; found && known.reason == reason {
		return max(now.Sub(known.at), 0)
	}
	return 0
}

// Reasons remembers since when the conditions of objects have their reasons, because the
// transition time of a condition changes only with its status. Where it has not seen a reason
// come, as after a start, it takes that time, so that a start makes no look more frequent.
type Reasons struct {
	mu   sync.Mutex
	ages map[types.NamespacedName]Ages
}

// Observe takes the conditions that an object has now. An object without any is forgotten.
func (r *Reasons) Observe(object types.NamespacedName, conditions []metav1.Condition, now time.Time) Ages {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(conditions) == 0 {
		delete(r.ages, object)
		return nil
	}
	before, ages := r.ages[object], make(Ages, len(conditions))
	for i := range conditions {
		condition := &conditions[i]
		known, found := before[condition.Type]
		switch {
		case !found:
			known = since{condition.Reason, condition.LastTransitionTime.Time}
		case known.reason != condition.Reason:
			known = since{condition.Reason, now}
		}
		ages[condition.Type] = known
	}
	if r.ages == nil {
		r.ages = map[types.NamespacedName]Ages{}
	}
	r.ages[object] = ages
	return ages
}
