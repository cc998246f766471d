package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
)

// Decide turns a Snapshot into a Plan.
func Decide(s Snapshot) Plan {
	s.Pods = slices.SortedFunc(slices.Values(s.Pods), func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	s.Standby = slices.SortedFunc(slices.Values(s.Standby), byFamily)
	if s.Service == nil {
		return s.end(Plan{})
	}
	governor := s.governor()
	if governor == nil && s.inDoubt() {
		return Plan{}
	}
	if governor == nil {
		return s.end(Plan{})
	}
	m := s.maintenance()
	c := s.choose(governor, m)
	plan := Plan{Governor: governor, OwnReady: len(s.OwnReady()), Fallback: c.kind, Maintenance: m, Drill: s.drill()}
	if reason, message := ignored(s.Service, c); reason != "" {
		plan.is(criticalv2.StateIgnored, reason, message)
		return s.end(plan)
	}
	if c.byLabels() {
		s.protectByLabels(&plan, c)
	} else {
		s.protectBySlice(&plan, c)
	}
	s.mention(&plan, c)
	return plan
}

// end plans the end of all that is ours.
func (s *Snapshot) end(plan Plan) Plan {
	plan.Delete = s.withdraw(WhyUnprotected)
	s.unpublish(&plan)
	return plan
}

// protectByLabels plans for a Service that selects its fallback Pod itself.
func (s *Snapshot) protectByLabels(plan *Plan, c choice) {
	switch {
	case len(s.OwnReady()) > 0:
		s.prepare(plan, c)
	case len(s.Slices) == 0:
		s.unknown(plan)
		return
	default:
		s.cover(plan, c)
	}
	// What another kind of fallback published answers until it is not needed.
	current := s.current()
	switch {
	case c.preparing:
		s.publish(plan, c, backing{}, s.phase(plan.Governor))
	case len(s.OwnReady()) > 0 || current != nil && s.isSelected(current):
		s.unpublish(plan)
	case len(s.Standby) > 0:
		s.publish(plan, c, backing{}, s.phase(plan.Governor))
	}
	s.bridge(plan)
}

// protectBySlice plans for a Service whose fallback the operator publishes.
func (s *Snapshot) protectBySlice(plan *Plan, c choice) {
	own, known := len(s.OwnReady()) > 0, len(s.Slices) > 0
	b, ph := s.backing(c), s.phase(plan.Governor)
	if c.kind == "" && own {
		s.unpublish(plan)
	} else {
		s.publish(plan, c, b, ph)
	}
	switch {
	case !own && !known:
		s.unknown(plan)
	case c.kind == criticalv2.FallbackKindPodTemplate:
		s.protectByPod(plan, c, b, own && ph.promoted)
	default:
		s.describe(plan, c, b)
		s.supersede(plan, own)
	}
	s.bridge(plan)
	if s.Refusal != nil && len(plan.Publish) > 0 && plan.State != criticalv2.StateCovered {
		plan.is(unprotected(!own), s.Refusal.Reason, s.Refusal.Message)
	}
}

// protectByPod plans for the Pod that a standby slice publishes. One that answers
// on, because deactivationDelay still runs, is left alone.
func (s *Snapshot) protectByPod(plan *Plan, c choice, b backing, answersOn bool) {
	own := len(s.OwnReady()) > 0
	switch {
	case c.keepsPod():
		s.stand(plan, c, own)
	case answersOn:
		s.describe(plan, c, b)
	case own:
		s.prepare(plan, c)
	default:
		s.cover(plan, c)
	}
}

// unknown is how a Service stands of which Kubernetes has said nothing yet: it
// publishes a slice, if an empty one, for every Service that has a selector.
func (s *Snapshot) unknown(plan *Plan) {
	plan.is(criticalv2.StateArming, criticalv2.ReasonEndpointsUnknown,
		"Kubernetes has not published an EndpointSlice for the Service yet.")
}

func (p *Plan) is(state criticalv2.ServiceState, reason, message string) {
	p.State, p.Reason, p.Message = state, reason, message
}

// recheck plans to look again after a time, or sooner if that is planned.
func (p *Plan) recheck(after time.Duration) {
	if p.RecheckAfter <= 0 || after < p.RecheckAfter {
		p.RecheckAfter = after
	}
}

// supersede plans the end of Pods that an earlier kind of fallback left.
func (s *Snapshot) supersede(plan *Plan, own bool) {
	switch {
	case own:
		s.stepAside(plan, WhyRecovered)
	case plan.State == criticalv2.StateCovered && !s.listsAny():
		s.stepAside(plan, WhySuperseded)
	}
}

// listsAny tells whether a fallback Pod is published.
func (s *Snapshot) listsAny() bool {
	return slices.ContainsFunc(s.Pods, func(pod corev1.Pod) bool { return s.lists(pod.UID) })
}

// stand plans for a Pod that runs before the outage. It is kept as in an outage;
// only a change of its template is followed while the Service answers by itself.
func (s *Snapshot) stand(plan *Plan, c choice, own bool) {
	s.cover(plan, c)
	if !own {
		return
	}
	if plan.State == criticalv2.StateExposed {
		plan.State = criticalv2.StateArming
		return
	}
	current := s.current()
	plan.State = criticalv2.StateArmed
	if plan.Reason == criticalv2.ReasonFallbackServing || plan.Reason == criticalv2.ReasonStandbyServing {
		plan.Reason = criticalv2.ReasonStandbyReady
		plan.Message = fmt.Sprintf("The Service answers by itself; Pod %q would answer in its place at once.", current.Name)
	}
	if s.outdated(current) && len(plan.Delete) == 0 && len(s.portMismatches(c)) == 0 && s.rehearsed(plan, c) {
		plan.Rebind = nil
		plan.Delete = append(plan.Delete, Removal{Pod: current, Why: WhyRenewed})
	}
}

// rehearsed tells whether the API server would accept a Pod of the template as it
// is now, and otherwise plans to ask it, under a name that is free: a Pod that
// works is not given up for one that cannot be made.
func (s *Snapshot) rehearsed(plan *Plan, c choice) bool {
	pod := s.pod(plan, c)
	pod.Name = render.PodName(pod.Name, "next")
	attempt := s.attemptFor(pod)
	left := s.untilNextAttempt(attempt)
	if left <= 0 {
		plan.Rehearse, left = pod, firstRetry
	}
	plan.recheck(left)
	return attempt != nil && attempt.Reason == ""
}

// outdated tells whether the template has changed since a Pod was made of it.
func (s *Snapshot) outdated(pod *corev1.Pod) bool {
	return s.Template != nil && render.TemplateHash(s.Template) != pod.Annotations[criticalv2.AnnotationTemplate]
}
