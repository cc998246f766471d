// Package decide decides which annotations an Ingress is to have from this operator. It is pure.
package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// maxValue is how many bytes the list of Services may have. Settings are bounded alike.
const maxValue = 1024

// Snapshot is all that matters about one Ingress, at one moment.
type Snapshot struct {
	// Annotations of the Ingress: of the keys that the operator sets, or once set.
	Annotations map[string]string
	// Owned are the keys that the operator set, as the API server keeps them.
	Owned []string
	// Selected reports whether the settings are for Ingresses of this class.
	Selected bool
	// Kept are the annotations that the setting INGRESS_ANNOTATIONS has.
	Kept map[string]string
	// OnFallback are the Services behind the Ingress that are on their fallback, where the
	// setting INGRESS_STATUS is on.
	OnFallback []string
}

// Plan is what is to be written.
type Plan struct {
	// Write reports whether anything is.
	Write bool
	// Apply are all annotations that the operator sets from now on: those that it set before and
	// are missing here go.
	Apply map[string]string
	// Conflicts are keys that another has set to another value, in order.
	Conflicts []string
	// Fallback is what the operator's annotation of the fallback says after the write, and Before
	// what it said; both are empty where there is none.
	Fallback, Before string
}

// Decide decides. What another has set is left alone, also where it has the wanted value.
func Decide(s Snapshot) Plan {
	wanted := map[string]string{}
	if s.Selected {
		maps.Copy(wanted, s.Kept)
		if len(s.OnFallback) > 0 {
			wanted[workloadsv1.AnnotationFallback] = list(s.OnFallback)
		}
	}
	plan := Plan{Apply: map[string]string{}}
	if slices.Contains(s.Owned, workloadsv1.AnnotationFallback) {
		plan.Before = s.Annotations[workloadsv1.AnnotationFallback]
	}
	for key, value := range wanted {
		has, exists := s.Annotations[key]
		owned := slices.Contains(s.Owned, key)
		switch {
		case owned || !exists:
			plan.Apply[key] = value
			plan.Write = plan.Write || !exists || has != value
		case has != value:
			plan.Conflicts = append(plan.Conflicts, key)
		}
	}
	for _, key := range s.Owned {
		_, stays := plan.Apply[key]
		plan.Write = plan.Write || !stays
	}
	slices.Sort(plan.Conflicts)
	plan.Fallback = plan.Apply[workloadsv1.AnnotationFallback]
	return plan
}

// LeaveOut leaves keys to another who has set them, too: they are conflicts, and stay as they are.
func (p *Plan) LeaveOut(keys []string) {
	for _, key := range keys {
		if _, applied := p.Apply[key]; !applied {
			continue
		}
		delete(p.Apply, key)
		p.Conflicts = append(p.Conflicts, key)
		if key == workloadsv1.AnnotationFallback {
			p.Fallback = p.Before
		}
	}
	slices.Sort(p.Conflicts)
}

// list names Services in order, and as many as fit.
func list(names []string) string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	for shown := len(names); shown > 0; shown-- {
		text := strings.Join(names[:shown], ", ")
		if more := len(names) - shown; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		if len(text) <= maxValue {
			return text
		}
	}
	return ""
}
