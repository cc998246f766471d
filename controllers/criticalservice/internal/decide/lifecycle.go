package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
)

// prepare plans for a Service that answers by itself: its fallback steps aside,
// and whether the next one would work is found out beforehand.
func (s *Snapshot) prepare(plan *Plan, c choice) {
	s.stepAside(plan, WhyRecovered)

	if c.reason != "" {
		plan.is(criticalv2.StateArming, c.reason, c.message)
		return
	}
	if missing := s.portMismatches(c); len(missing) > 0 {
		plan.is(criticalv2.StateArming, criticalv2.ReasonPortMismatch, s.portMismatch(missing))
		return
	}

	pod := s.pod(plan, c)
	attempt := s.attemptFor(pod)
	switch {
	case attempt == nil && len(s.Pods) == 0:
		plan.is(criticalv2.StateArming, criticalv2.ReasonDryRunPending,
			"The API server is being asked whether it would accept the fallback Pod.")
		plan.Provisional = true
	case attempt != nil && attempt.Reason != "":
		plan.is(criticalv2.StateArming, attempt.Reason, attempt.Message)
	default:
		plan.is(criticalv2.StateArmed, criticalv2.ReasonEndpointsReady,
			fmt.Sprintf("The Service answers by itself; Pod %q would be made from PodTemplate %s.", pod.Name, s.Template.Namespace+"/"+s.Template.Name))
	}

	// A fallback that is still there holds the name that would be rehearsed.
	if len(s.Pods) > 0 {
		return
	}
	left := s.untilNextAttempt(attempt)
	if left <= 0 {
		plan.Rehearse, left = pod, firstRetry
	}
	plan.recheck(left)
}

// stepAside plans the end of the fallback of a Service that has recovered: it
// leaves the Service, answers a moment longer, and is deleted.
func (s *Snapshot) stepAside(plan *Plan, why Why) {
	for i := range s.Pods {
		pod := &s.Pods[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		releasedAt, released := render.ReleasedAt(pod)
		left := releasedAt.Add(drainFor).Sub(s.Now)
		switch {
		case !released && s.serves(pod):
			plan.Release = append(plan.Release, Removal{Pod: render.Released(pod, s.Service, s.Now), Why: why})
			plan.recheck(drainFor)
		case released && left > 0 && left <= drainFor: // Else the clock was set meanwhile.
			plan.recheck(left)
		default:
			plan.Delete = append(plan.Delete, Removal{Pod: pod, Why: why})
		}
	}
}

// cover plans for a Service in outage.
func (s *Snapshot) cover(plan *Plan, c choice) {
	current := s.current()
	for i := range s.Pods {
		pod := &s.Pods[i]
		if pod != current && pod.DeletionTimestamp == nil {
			s.clear(plan, pod, current)
		}
	}
	if current == nil {
		s.replace(plan, c)
		return
	}
	if rebound := render.Rebound(current, s.Service, plan.Governor, s.publishing(current, c), s.others(plan.Governor)...); !sameBinding(current, rebound) {
		plan.Rebind = append(plan.Rebind, rebound)
	}
	s.judge(plan, c, current)
}

// publishing is how a Pod joins the Service. One that was selected by its labels
// keeps them until it is published.
func (s *Snapshot) publishing(pod *corev1.Pod, c choice) criticalv2.Publish {
	if render.IsSelected(pod) && !s.lists(pod.UID) {
		return criticalv2.PublishSelectorLabels
	}
	return c.pod.Publish
}

// judge says what the fallback Pod is doing, and gives up one that cannot
// become ready once its template is another.
func (s *Snapshot) judge(plan *Plan, c choice, pod *corev1.Pod) {
	if s.serves(pod) {
		plan.is(criticalv2.StateCovered, criticalv2.ReasonFallbackServing,
			fmt.Sprintf("The Service has no ready endpoint of its own; fallback Pod %q answers.", pod.Name))
		if !c.byLabels() && !s.promoted() {
			plan.Reason = criticalv2.ReasonStandbyServing
		}
		s.warnOfPorts(plan, c)
		return
	}
	trouble, wait := s.troubleOf(pod)
	if trouble == "" {
		plan.is(criticalv2.StateExposed, criticalv2.ReasonFallbackStarting,
			fmt.Sprintf("Fallback Pod %q is starting.", pod.Name))
		if wait > 0 {
			plan.recheck(wait)
		}
	} else {
		plan.is(criticalv2.StateExposed, criticalv2.ReasonFallbackFailing,
			fmt.Sprintf("Fallback Pod %q does not answer: %s. A change of its PodTemplate replaces it.", pod.Name, trouble))
	}
	if s.outdated(pod) && trouble != "" {
		plan.Rebind = nil
		plan.Delete = append(plan.Delete, Removal{Pod: pod, Why: WhyOutdated})
	}
}

// warnOfPorts lets a fallback that answers on some ports only say so.
func (s *Snapshot) warnOfPorts(plan *Plan, c choice) {
	if s.Template == nil {
		return
	}
	if missing := s.portMismatches(c); len(missing) > 0 {
		plan.Reason = criticalv2.ReasonPortMismatch
		plan.Message += " " + s.portMismatch(missing)
	}
}

// portMismatches lists the ports of the Service that a Pod of the template would
// not serve.
func (s *Snapshot) portMismatches(c choice) []render.PortMismatch {
	if c.byLabels() {
		return render.PortMismatches(s.Service, s.Template)
	}
	_, missing := render.PodPorts(s.Service, &s.Template.Template.Spec)
	return missing
}

// replace plans a new fallback Pod where there is none, or says what hinders it.
func (s *Snapshot) replace(plan *Plan, c choice) {
	if c.reason != "" {
		plan.is(criticalv2.StateExposed, c.reason, c.message)
		return
	}
	missing := s.portMismatches(c)
	if len(missing) > 0 && len(missing) == len(s.Service.Spec.Ports) {
		// A Pod that serves none of the ports would be a dead endpoint that
		// proxies believe in.
		plan.is(criticalv2.StateExposed, criticalv2.ReasonPortMismatch, s.portMismatch(missing))
		return
	}
	pod := s.pod(plan, c)
	if holder := s.holder(); holder != nil {
		s.awaitEnd(plan, holder)
		return
	}
	attempt := s.attemptFor(pod)
	if attempt != nil && attempt.Reason != "" {
		plan.is(criticalv2.StateExposed, attempt.Reason, attempt.Message)
		// A rehearsal may have been refused for what the outage has ended, such
		// as a quota that the Service's own Pods filled: only a refusal in
		// earnest is worth waiting after.
		if left := s.untilNextAttempt(attempt); left > 0 && !attempt.Rehearsal {
			plan.recheck(left)
			return
		}
	} else {
		plan.is(criticalv2.StateExposed, criticalv2.ReasonFallbackStarting, fmt.Sprintf("Fallback Pod %q is being made.", pod.Name))
		plan.Provisional = true
	}
	plan.Create = pod
	plan.recheck(firstRetry)
}

// holder is the fallback Pod that the next one must wait for: it has ended and is
// not yet deleted, or is ending and holds the name.
func (s *Snapshot) holder() *corev1.Pod {
	i := slices.IndexFunc(s.Pods, func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp == nil || pod.Name == s.PodName()
	})
	if i < 0 {
		return nil
	}
	return &s.Pods[i]
}

// awaitEnd says that a fallback Pod that is ending holds up its successor.
func (s *Snapshot) awaitEnd(plan *Plan, pod *corev1.Pod) {
	if pod.DeletionTimestamp == nil {
		plan.is(criticalv2.StateExposed, criticalv2.ReasonFallbackFailing,
			fmt.Sprintf("Fallback Pod %q ended (%s) and is being replaced.", pod.Name, cmp.Or(pod.Status.Reason, string(pod.Status.Phase))))
		return
	}
	// A deletion timestamp lies at the end of the grace period.
	overdue := pod.DeletionTimestamp.Add(stuckAfter).Sub(s.Now)
	switch {
	case overdue > 0:
		plan.is(criticalv2.StateExposed, criticalv2.ReasonFallbackStarting,
			fmt.Sprintf("An earlier fallback Pod %q must be gone before the next can be made.", pod.Name))
		plan.recheck(overdue)
	case len(pod.Finalizers) > 0:
		plan.is(criticalv2.StateExposed, criticalv2.ReasonFallbackFailing,
			fmt.Sprintf("An earlier fallback Pod %q cannot go, because of its finalizers %s: let their owner finish, or take them off.",
				pod.Name, strings.Join(pod.Finalizers, ", ")))
	default:
		plan.is(criticalv2.StateExposed, criticalv2.ReasonFallbackFailing,
			fmt.Sprintf("An earlier fallback Pod %q should have ended, and its node does not say that it has: it is deleted without its node.", pod.Name))
		plan.Delete = append(plan.Delete, Removal{Pod: pod, Why: WhyStuck})
		plan.recheck(lastRetry)
	}
}

// clear plans the end of a fallback Pod that is not the current one.
func (s *Snapshot) clear(plan *Plan, pod, current *corev1.Pod) {
	if !hasEnded(pod) {
		plan.Delete = append(plan.Delete, Removal{Pod: pod, Why: WhySurplus})
		return
	}
	age := s.Now.Sub(pod.CreationTimestamp.Time)
	if current == nil && age < replaceFailedAfter {
		plan.recheck(replaceFailedAfter - age)
		return
	}
	plan.Delete = append(plan.Delete, Removal{Pod: pod, Why: WhyFailed})
}

// current is the fallback Pod that stays: one that answers before one that does
// not, then the oldest, then the first by name.
func (s *Snapshot) current() *corev1.Pod {
	var candidates []*corev1.Pod
	for i := range s.Pods {
		if pod := &s.Pods[i]; pod.DeletionTimestamp == nil && !hasEnded(pod) {
			candidates = append(candidates, pod)
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	return slices.MinFunc(candidates, func(a, b *corev1.Pod) int {
		return cmp.Or(
			-compareBool(s.serves(a), s.serves(b)),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			strings.Compare(a.Name, b.Name),
		)
	})
}

// withdraw plans the end of every fallback Pod that is not ending already.
func (s *Snapshot) withdraw(why Why) []Removal {
	var deletions []Removal
	for i := range s.Pods {
		if pod := &s.Pods[i]; pod.DeletionTimestamp == nil {
			deletions = append(deletions, Removal{Pod: pod, Why: why})
		}
	}
	return deletions
}

// PodName is the name that a new fallback Pod of the Service gets.
func (s *Snapshot) PodName() string {
	return render.PodName(s.Settings.PodNamePrefix, s.Service.Name)
}

func (s *Snapshot) pod(plan *Plan, c choice) *corev1.Pod {
	return render.Pod(s.PodName(), s.Service, s.Template, plan.Governor, c.pod.Publish, s.others(plan.Governor)...)
}

func sameBinding(a, b *corev1.Pod) bool {
	return equality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		equality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}
