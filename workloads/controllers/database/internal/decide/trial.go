package decide

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
)

// replace takes a Pod away that the spec changes. One whose engine has come up stays until a
// trial has ended well: what the spec says now may have no image, no node, or no engine. That
// the engine starts again just now is no reason to take it away. One whose engine never came up
// goes at once: what it was made from may be what the spec corrects.
func (d *decision) replace(pod *corev1.Pod) {
	removal := &Removal{Pod: pod, Successor: d.wanted()}
	if !d.hasComeUp(pod) {
		d.plan.RemovePod = removal
		return
	}
	if d.Trial != nil {
		d.checkOwner("Pod", d.Trial)
	}
	switch {
	case d.blocked():
	case d.tries(d.Trial) && d.hasPassed(d.Trial):
		d.trial, d.plan.RemovePod = d.Trial, removal
		return
	case d.tries(d.Trial):
		d.trial = d.Trial
	default:
		d.trial = render.Trial(d.Database, d.image(), pod)
		if d.Trial == nil {
			d.plan.CreateTrial = &Trial{Pod: d.trial, Successor: removal.Successor}
		}
	}
	d.keep(pod)
}

// tries reports whether a Pod tries out what the spec says now.
func (d *decision) tries(trial *corev1.Pod) bool {
	return trial != nil && trial.DeletionTimestamp == nil && d.isCurrent(trial)
}

// tidy takes a trial away that is of no use: what it was for has changed or is done, or its
// node has rejected it.
func (d *decision) tidy() {
	trial := d.Trial
	switch {
	case trial == nil || !render.IsOurs(d.Database, trial):
	case trial.DeletionTimestamp != nil:
		d.plan.RemoveTrial = d.end(trial)
	case trial != d.trial:
		d.plan.RemoveTrial = &Removal{Pod: trial}
	case hasEnded(trial) && !d.hasPassed(trial):
		d.plan.RemoveTrial = d.clear(trial)
	}
}

// newest is the Pod that says how it stands with the spec.
func (d *decision) newest() *corev1.Pod { return cmp.Or(d.trial, d.Pod) }
