package decide

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
	"github.com/critical-service/operator/internal/protection"
)

// facts are what follows from a Snapshot alone, computed once for all stages.
type facts struct {
	*Snapshot
	// governor is the policy that governs the Service, and others are those that match
	// as well.
	governor criticalv2.Policy
	others   []criticalv2.Policy
	// own is how many ready endpoints of its own the Service has.
	own int
	// ours are the Pods of the namespace that the operator made.
	ours protection.Ours
	// maintenance is the one that is announced now, and drill the live drill that is
	// under way.
	maintenance, drill *criticalv2.Maintenance
	// current is the fallback Pod that stays; nil if there is none. currentServes is
	// true if it really serves.
	current       *corev1.Pod
	currentServes bool
	// promoted is true if a standby slice has a ready endpoint.
	promoted bool
	// covered is where what is published answers.
	covered coverage
}

// factsOf computes the facts of a Snapshot that has a Service. Lists of the facts
// are in order; those of the Snapshot stay as they are.
func factsOf(s Snapshot) *facts {
	s.sort()
	f := &facts{Snapshot: &s, ours: s.ours()}
	if matching := protection.Matching(s.Policies, s.Service, s.NamespaceLabels); len(matching) > 0 {
		f.governor, f.others = matching[0], matching[1:]
	}
	f.own = len(protection.OwnReady(s.Service, s.Slices, f.ours))
	f.maintenance, f.drill = announced(s.Maintenances, s.Now, f.up()), drilled(s.Maintenances, s.Now)
	f.current = s.currentPod()
	f.currentServes = f.current != nil && s.serves(f.current)
	f.promoted = s.isPromoted()
	f.covered = s.coverage()
	return f
}

// sort gives the Snapshot sorted copies of its lists.
func (s *Snapshot) sort() {
	byName := func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) }
	s.Pods = slices.SortedFunc(slices.Values(s.Pods), byName)
	s.Responder.Pods = slices.SortedFunc(slices.Values(s.Responder.Pods), byName)
	s.Standby = slices.SortedFunc(slices.Values(s.Standby), func(a, b discoveryv1.EndpointSlice) int { return strings.Compare(a.Name, b.Name) })
	s.Maintenances = slices.SortedFunc(slices.Values(s.Maintenances), func(a, b criticalv2.Maintenance) int { return strings.Compare(a.Name, b.Name) })
}

// up reports whether the Service answers by itself.
func (f *facts) up() bool { return f.own > 0 }

// unknown reports whether nothing is known of the Service's endpoints yet:
// Kubernetes publishes a slice, if an empty one, for every Service with a selector.
func (f *facts) unknown() bool { return !f.up() && len(f.Slices) == 0 }

// down reports whether the Service is known to have no ready endpoint of its own.
func (f *facts) down() bool { return !f.up() && !f.unknown() }

// currentPod is the fallback Pod that stays: one that answers before one that does
// not, then the oldest, then the first by name.
func (s *Snapshot) currentPod() *corev1.Pod {
	var candidates []*corev1.Pod
	for i := range s.Pods {
		if pod := &s.Pods[i]; pod.DeletionTimestamp == nil && !hasEnded(pod) {
			candidates = append(candidates, pod)
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	silent := func(pod *corev1.Pod) int {
		if s.serves(pod) {
			return 0
		}
		return 1
	}
	return slices.MinFunc(candidates, func(a, b *corev1.Pod) int {
		return cmp.Or(
			cmp.Compare(silent(a), silent(b)),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			strings.Compare(a.Name, b.Name),
		)
	})
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

// overdueIn is how long until a Pod that is ending counts as stuck. A deletion
// timestamp lies at the end of the grace period.
func (s *Snapshot) overdueIn(pod *corev1.Pod) time.Duration {
	return pod.DeletionTimestamp.Add(stuckAfter).Sub(s.Now)
}

// inDoubt reports whether what there is of a fallback has to stay although no
// policy matches the Service: it belongs to one whose selector is not valid, so that it
// cannot be known whether this Service is meant. The schema does not refuse every such
// selector, and a CustomResourceDefinition may be replaced by one that loses it. A fallback
// that answers beside the application is never left there.
func (f *facts) inDoubt() bool {
	if f.Service.DeletionTimestamp != nil || protection.OptedOut(f.Service, nil) {
		return false
	}
	if f.up() && (f.promoted || slices.ContainsFunc(f.Pods, func(pod corev1.Pod) bool { return render.IsSelected(&pod) })) {
		return false
	}
	return slices.ContainsFunc(f.Policies, func(policy criticalv2.Policy) bool {
		return protection.IsActive(policy) && policy.SelectorProblem() != nil &&
			(slices.ContainsFunc(f.Standby, func(slice discoveryv1.EndpointSlice) bool { return protection.BelongsTo(&slice, policy) }) ||
				slices.ContainsFunc(f.Pods, func(pod corev1.Pod) bool { return protection.BelongsTo(&pod, policy) }))
	})
}
