package decide

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
	"github.com/critical-service/operator/internal/protection"
)

// podChanges are the changes of the fallback Pods.
type podChanges struct {
	create, dryRun  *corev1.Pod
	rebind          []*corev1.Pod
	release, remove []Removal
	recheck
}

// changePods plans the fallback Pods.
func changePods(f *facts, want choice, p podFacts) podChanges {
	var changes podChanges
	switch {
	case f.unknown():
	case !want.isPod() && f.up():
		changes.stepAside(f, WhyRecovered)
	case !want.isPod():
		// Pods that an earlier kind of fallback left go once what took their place answers.
		if f.standsWithoutPods() {
			changes.stepAside(f, WhySuperseded)
		}
	case f.down() || want.keepsPod():
		changes.run(f, want, p)
	case want.answersOn(f):
	default:
		changes.stepAside(f, WhyRecovered)
		changes.prepare(f, want, p)
	}
	return changes
}

// stepAside plans the end of the fallback of a Service that has recovered: it
// leaves the Service, answers a moment longer, and is deleted.
func (c *podChanges) stepAside(f *facts, why Why) {
	for i := range f.Pods {
		pod := &f.Pods[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		releasedAt, released := render.ReleasedAt(pod)
		left := releasedAt.Add(drainFor).Sub(f.Now)
		switch {
		case !released && (protection.CanAnswer(pod) || f.isSelected(pod)): // Proxies may know it for longer than slices list it.
			c.release = append(c.release, Removal{Pod: render.Released(pod, f.Service, f.Now), Why: why})
			c.in(drainFor)
		case released && left > 0 && left <= drainFor: // Else the clock was set meanwhile.
			c.in(left)
		default:
			c.remove = append(c.remove, Removal{Pod: pod, Why: why})
		}
	}
}

// prepare plans a dry run before an outage: would the Pod be accepted? A fallback
// that is still there holds the name that would be asked for.
func (c *podChanges) prepare(f *facts, want choice, p podFacts) {
	if p.wanted != nil && want.shortfall == "" && len(p.mismatches) == 0 && len(f.Pods) == 0 {
		c.ask(f, p.wanted)
	}
}

// ask plans a dry run, unless the API server's last answer is recent enough. It
// reports whether the API server would accept the Pod.
func (c *podChanges) ask(f *facts, pod *corev1.Pod) (accepted bool) {
	attempt := f.AttemptFor(pod)
	left := attempt.nextIn(f.Now)
	if left <= 0 {
		c.dryRun, left = pod, firstRetry
	}
	c.in(left)
	return attempt != nil && !attempt.refused()
}

// run plans the Pod that is to run now: in an outage, or as a standby before it.
func (c *podChanges) run(f *facts, want choice, p podFacts) {
	for i := range f.Pods {
		if pod := &f.Pods[i]; pod != f.current && pod.DeletionTimestamp == nil {
			c.clear(f, pod)
		}
	}
	switch {
	case f.current == nil:
		c.replace(f, p)
		return
	case c.givesUp(f, want, p):
		return
	}
	c.in(p.startsFor)
	rebound := render.Rebound(f.current, f.Service, f.governor, publishing(f, want), f.others...)
	if !sameBinding(f.current, rebound) {
		c.rebind = append(c.rebind, rebound)
	}
}

// givesUp plans the end of the current Pod once its template has changed: of one that
// cannot become ready, and of a standby while the Service answers by itself; of that also
// where it has fallen silent. A Pod that works is not given up for one that would not be
// accepted, and none for a template that is missing or may not be used. A silent one is
// kept in an outage: it may be silent to the operator only.
func (c *podChanges) givesUp(f *facts, want choice, p podFacts) bool {
	why := WhyOutdated
	switch {
	case !p.outdated && !(p.silent && f.currentServes) || want.shortfall != "":
		return false
	case !f.currentServes && p.problem == "":
		return false
	case !f.currentServes:
	case f.down() || len(c.remove) > 0 || len(p.mismatches) > 0 || !c.ask(f, p.next):
		return false
	case p.outdated:
		why = WhyRenewed
	default:
		why = WhySilent
	}
	c.remove = append(c.remove, Removal{Pod: f.current, Why: why})
	return true
}

// publishing is how the current Pod joins the Service. One that was selected by its
// labels keeps them until it is published.
func publishing(f *facts, want choice) criticalv2.Publish {
	if render.IsSelected(f.current) && !f.lists(f.current.UID) {
		return criticalv2.PublishSelectorLabels
	}
	return want.pod.Publish
}

// replace plans a new fallback Pod where there is none.
func (c *podChanges) replace(f *facts, p podFacts) {
	switch {
	case p.wanted == nil: // Its template is being read.
	case p.servesNoPort(f.Service):
	case p.holder != nil:
		c.await(f, p.holder)
	case p.retryIn > 0:
		c.in(p.retryIn)
	default:
		c.create = p.wanted
		c.in(firstRetry)
	}
}

// await plans for a fallback Pod that is ending and holds the name of the next one.
func (c *podChanges) await(f *facts, holder *corev1.Pod) {
	if holder.DeletionTimestamp == nil {
		return
	}
	switch overdue := f.overdueIn(holder); {
	case overdue > 0:
		c.in(overdue)
	case len(holder.Finalizers) == 0:
		c.remove = append(c.remove, Removal{Pod: holder, Why: WhyStuck})
		c.in(lastRetry)
	}
}

// clear plans the end of a fallback Pod that is not the current one.
func (c *podChanges) clear(f *facts, pod *corev1.Pod) {
	if !hasEnded(pod) {
		c.remove = append(c.remove, Removal{Pod: pod, Why: WhySurplus})
		return
	}
	age := f.Now.Sub(pod.CreationTimestamp.Time)
	if f.current == nil && age < replaceFailedAfter {
		c.in(replaceFailedAfter - age)
		return
	}
	c.remove = append(c.remove, Removal{Pod: pod, Why: WhyFailed})
}

// withdrawPods plans the end of every fallback Pod that is not ending already.
func withdrawPods(s *Snapshot) podChanges {
	var changes podChanges
	for i := range s.Pods {
		if pod := &s.Pods[i]; pod.DeletionTimestamp == nil {
			changes.remove = append(changes.remove, Removal{Pod: pod, Why: WhyUnprotected})
		}
	}
	return changes
}

func sameBinding(a, b *corev1.Pod) bool {
	return equality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		equality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences)
}
