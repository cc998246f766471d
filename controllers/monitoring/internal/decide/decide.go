// Package decide decides which objects of monitoring are applied and which removed. It is
// pure.
package decide

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/controllers/monitoring/internal/render"
	"github.com/critical-service/operator/internal/controller/drift"
)

// Snapshot is all that a decision depends on.
type Snapshot struct {
	// Off is true where the settings want nothing of it.
	Off bool
	// InUse is true while there is a CriticalService or a ServiceFallback.
	InUse bool
	// Available is true where the API server has a kind of the Prometheus operator.
	Available bool
	// Objects are those whose kind the API server has.
	Objects []Object
}

// Object is one that may be wanted.
type Object struct {
	// Wanted is how it should be.
	Wanted *unstructured.Unstructured
	// Found is how it is; nil if there is none.
	Found *unstructured.Unstructured
}

// Plan is what has to be done.
type Plan struct {
	Apply []Apply
	// Remove are objects as they were found.
	Remove []*unstructured.Unstructured
	// LeftAlone are those that are wanted, and that others keep.
	LeftAlone []*unstructured.Unstructured
}

// Apply is an object to apply: the one with the UID or, if that is empty, one that does not exist.
type Apply struct {
	Wanted *unstructured.Unstructured
	UID    types.UID
}

// Decide decides. What others keep is never changed or removed.
func Decide(snap Snapshot) Plan {
	wanted := !snap.Off && snap.InUse && snap.Available
	var plan Plan
	for _, object := range snap.Objects {
		found := object.Found
		switch {
		case found == nil:
			if wanted {
				plan.Apply = append(plan.Apply, Apply{Wanted: object.Wanted})
			}
		case found.GetDeletionTimestamp() != nil:
		case render.ManagerOf(found) != render.Manager:
			if wanted {
				plan.LeftAlone = append(plan.LeftAlone, found)
			}
		case !wanted:
			plan.Remove = append(plan.Remove, found)
		case !drift.Covers(found, object.Wanted):
			plan.Apply = append(plan.Apply, Apply{Wanted: object.Wanted, UID: found.GetUID()})
		}
	}
	// Alerts go first, and what they are made from last.
	slices.Reverse(plan.Remove)
	return plan
}
