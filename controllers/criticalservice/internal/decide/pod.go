package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
)

// podTargets are the fallback Pods that can answer, on the ports where they listen.
func podTargets(f *facts) target {
	var t target
	for _, pod := range preferred(f.Pods) {
		ports, _ := render.PodPorts(f.Service, &pod.Spec)
		t.addPod(pod, ports)
	}
	return t
}

// podFacts are what is known of a fallback Pod of a template, beside what it is now.
type podFacts struct {
	// wanted is the Pod that would be made now; nil without a template, or before it was
	// read.
	wanted *corev1.Pod
	// mismatches are the ports of the Service that it would not serve.
	mismatches []render.PortMismatch
	// attempt is the API server's last answer about this very Pod; nil if there is
	// none. retryIn is how long a refusal in earnest is to be waited for.
	attempt *Attempt
	retryIn time.Duration
	// next is the successor of a Pod whose template has changed, by a name that is free.
	next *corev1.Pod
	// problem is what keeps the current Pod from answering, and startsFor how long it
	// may still start; both are empty where it serves.
	problem   string
	startsFor time.Duration
	// outdated is true if the template has changed since the current Pod was made.
	outdated bool
	// silent is true if the current Pod answers self-tests no more.
	silent bool
	// overlap says what the fallback Pod of another Service would take from this one.
	overlap string
	// holder is the Pod that the next one must wait for; nil if there is none.
	holder *corev1.Pod
}

// podFactsOf judges the fallback Pod as it is wanted.
func podFactsOf(f *facts, wanted criticalv2.PodTemplateFallback) podFacts {
	var p podFacts
	p.holder = f.holder()
	if f.current != nil && !f.currentServes {
		p.problem, p.startsFor = startProblem(f.current, f.Now)
	}
	if f.Template == nil {
		return p
	}
	p.wanted = render.Pod(f.PodName(), f.Service, f.Template, f.governor, wanted.Publish, f.others...)
	// A dry run may have been refused for what the outage has ended, such as a quota
	// that the Service's own Pods filled.
	if p.attempt = f.AttemptFor(p.wanted); p.attempt.refused() && !p.attempt.DryRun {
		p.retryIn = p.attempt.nextIn(f.Now)
	}
	if wanted.Publish == criticalv2.PublishSelectorLabels {
		p.mismatches = render.PortMismatches(f.Service, f.Template)
		p.overlap = f.overlap()
	} else {
		_, p.mismatches = render.PodPorts(f.Service, &f.Template.Template.Spec)
	}
	if f.current == nil {
		return p
	}
	p.silent = f.Silent != "" && f.current.UID == f.Silent
	p.outdated = render.TemplateHash(f.Template) != f.current.Annotations[criticalv2.AnnotationTemplate]
	if p.outdated || p.silent {
		p.next = p.wanted.DeepCopy()
		p.next.Name = render.PodName(p.wanted.Name, "next")
	}
	return p
}

// servesNoPort reports whether a Pod of the template would be a dead endpoint that
// proxies believe in.
func (p *podFacts) servesNoPort(service *corev1.Service) bool {
	return len(p.mismatches) > 0 && len(p.mismatches) == len(service.Spec.Ports)
}

// AttemptFor is the API server's last answer, if it was about this very Pod.
func (s *Snapshot) AttemptFor(pod *corev1.Pod) *Attempt {
	if s.Attempt == nil || s.Attempt.Hash != render.Hash(pod) {
		return nil
	}
	return s.Attempt
}

// refused reports whether the API server refused the Pod.
func (a *Attempt) refused() bool { return a != nil && a.Refusals > 0 }

// isReported reports whether it refused the Pod for a reason that a user can change.
func (a *Attempt) isReported() bool { return a.refused() && a.Reason != "" }

// IsNameTaken reports whether another user's Pod had the name; whether it still has can
// only be asked.
func (a *Attempt) IsNameTaken() bool { return a != nil && a.Reason == criticalv2.ReasonNameTaken }

// nextIn is how long to wait before the API server is asked again.
func (a *Attempt) nextIn(now time.Time) time.Duration {
	if a == nil {
		return 0
	}
	interval := dryRunEvery
	if a.refused() {
		interval = min(firstRetry<<min(a.Refusals-1, 5), lastRetry)
		if !a.DryRun && a.isReported() {
			interval = min(interval, lastCreateRetry) // Nothing answers meanwhile.
		}
	}
	return a.At.Add(interval).Sub(now)
}
