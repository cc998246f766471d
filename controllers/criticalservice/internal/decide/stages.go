package decide

import (
	"time"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// decision holds what the stages found, for those that follow.
type decision struct {
	*facts
	want   choice
	now    target
	backup backupFacts
	pod    podFacts
	slices sliceChanges
	pods   podChanges
}

// targetOf is what can answer for the Service now, and what is known of its source.
func targetOf(f *facts, want choice) (target, backupFacts, podFacts) {
	switch want.kind {
	case criticalv2.FallbackKindPage:
		return pageTarget(f), backupFacts{}, podFacts{}
	case criticalv2.FallbackKindPodTemplate:
		return podTargets(f), backupFacts{}, podFactsOf(f, want.pod)
	case criticalv2.FallbackKindService:
		backup := backupOf(f, want.backup)
		return backup.target, backup, podFacts{}
	default:
		return target{}, backupFacts{}, podFacts{}
	}
}

// plan puts the stages together.
func (d *decision) plan(said standing, changesIn time.Duration) Plan {
	var next recheck
	for _, after := range []time.Duration{d.slices.after, d.pods.after, changesIn} {
		next.in(after)
	}
	return Plan{
		State: said.state, Reason: said.reason, Message: said.message, Provisional: said.provisional,
		Governor: d.governor, OwnReady: d.own,
		Fallback: d.want.kind, Maintenance: d.maintenance, Drill: d.drill,
		Publish: d.slices.publish, Retract: d.slices.retract, Unpublish: d.slices.unpublish,
		Create: d.pods.create, DryRun: d.pods.dryRun, Rebind: d.pods.rebind, Release: d.pods.release, Delete: d.pods.remove,
		RecheckAfter: next.after,
	}
}

// answered reports whether anything answers in the place of the Service.
func (d *decision) answered() bool { return d.covered.somewhere || d.want.isPod() && d.currentServes }

// podRuns reports whether a Pod of a template is to run now: in an outage, or as a
// standby before it.
func (d *decision) podRuns() bool { return d.want.isPod() && (d.down() || d.want.keepsPod()) }

// podOnDemand reports whether a Pod of a template is to be made in an outage, and
// there is none.
func (d *decision) podOnDemand() bool {
	return d.want.isPod() && !d.podRuns() && !d.want.answersOn(d.facts)
}

// ready reports whether what is wanted can answer: nothing of it is missing.
func (d *decision) ready() bool {
	switch {
	case d.want.kind == "":
		return false
	case d.want.isPod():
		return true
	default:
		return !d.now.isEmpty() && (d.want.backup != "" || !d.lacksListener())
	}
}
