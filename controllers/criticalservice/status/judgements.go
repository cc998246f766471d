package status

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/protection"
)

// judgements are those of all Services that a CriticalService matches. It is not settled
// while one of them is missing that the caches show: after a start, and after a change
// of the spec. What is judged later comes one by one.
func (r *Reconciler) judgements(ctx context.Context, policy criticalv2.Policy) (judged []*memory.Judged, settled bool) {
	of := summary.PolicyOf(policy)
	judged = r.Memory.Judgements.Of(of.Key)
	outdated := func(known *memory.Judged) bool { return !known.Accounts(of) }
	last := ptr.Deref(r.Memory.Statuses.Get(of.Key), memory.Status{})
	if last.Settled == of && !slices.ContainsFunc(judged, outdated) {
		return judged, true
	}
	missing := r.missing(ctx, policy, last.Awaits)
	if missing.Name != "" && missing == last.Awaits {
		r.Protect.Wake(missing) // It was waited for already: what made the policy count for it may have woken nothing.
	}
	r.follow(of.Key, func(status *memory.Status) {
		status.Awaits = missing
		if missing == (types.NamespacedName{}) {
			status.Settled = of
		}
	})
	if missing != (types.NamespacedName{}) {
		return nil, false
	}
	return slices.DeleteFunc(r.Memory.Judgements.Of(of.Key), outdated), true
}

// missing is a Service that the CriticalService matches and that was not judged by its
// spec yet; empty if there is none. The one that was missing last is looked at first,
// which spares a walk over all Services for each one that is judged.
func (r *Reconciler) missing(ctx context.Context, policy criticalv2.Policy, last types.NamespacedName) types.NamespacedName {
	of := summary.PolicyOf(policy)
	isMissing := func(key types.NamespacedName) bool {
		known := r.Memory.Judgements.Get(key)
		return known == nil || !known.Accounts(of)
	}
	if last.Name != "" && isMissing(last) {
		service, err := read.Existing[corev1.Service](ctx, r.Cached, last)
		if err == nil && service != nil && protection.Matches(policy, service, observe.NamespaceLabels(ctx, r.Cached, last.Namespace)) {
			return last
		}
	}
	var missing types.NamespacedName
	if !protection.IsActive(policy) {
		return missing
	}
	// The caches have no Services of namespaces that are not watched.
	observe.EachSelected(ctx, r.Cached, policy, func(service *corev1.Service) {
		if key := client.ObjectKeyFromObject(service); missing.Name == "" && isMissing(key) {
			missing = key
		}
	})
	return missing
}

// unwatched lists the namespaces of the spec that the operator does not look at.
func (r *Reconciler) unwatched(policy criticalv2.Policy) []string {
	return slices.DeleteFunc(slices.Clone(policy.InNamespaces()), r.watches)
}

func (r *Reconciler) watches(namespace string) bool {
	return len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, namespace)
}
