// Package status writes the status of each CriticalService, and the events that a
// change of it is worth. Its key is the CriticalService.
package status

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/controllers/criticalservice/metrics"
	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/controller/write"
)

// Reconciler summarises, per CriticalService, what was decided about the
// Services it matches. It protects nothing.
type Reconciler struct {
	observe.Observer
	events.Emitter
	// Client writes.
	Client  client.Client
	Metrics *metrics.Counters
	// Wake wakes this controller.
	Wake wake.Status
}

// Setup adds the controller to the manager.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("status").
		For(&criticalv2.CriticalService{}, builder.WithPredicates(wake.SpecChanged)).
		Watches(&corev1.Service{}, wake.EachState(wake.PoliciesOfService(r.Cached)), builder.WithPredicates(wake.LabelsChanged)).
		Watches(&corev1.Namespace{}, wake.EachState(wake.PoliciesBySelector(r.Cached)), builder.WithPredicates(wake.LabelsChanged)).
		WatchesRawSource(r.Wake).
		WithOptions(queue.Options(2)).
		Complete(r)
}

// Reconcile writes the status where it differs, and then sends the events that
// the difference is worth.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	policy := &criticalv2.CriticalService{}
	if err := r.Cached.Get(ctx, req.NamespacedName, policy); err != nil {
		return fault.Result(err)
	}
	verdicts, err := r.judge(ctx, policy)
	if err != nil {
		return fault.Result(err)
	}
	updated := policy.DeepCopy()
	updated.Status = summary.Summarize(policy, verdicts, r.unwatched(policy), r.Clock.Now())
	wrote, err := write.Status(ctx, r.Client, policy, updated.DeepCopy())
	if apierrors.IsInvalid(err) {
		return fault.Result(fault.BugFrom(err))
	}
	if err != nil {
		return fault.Result(err)
	}
	if wrote {
		r.Metrics.Follow(policy, &updated.Status, verdicts)
		r.emit(policy, updated, verdicts)
	}
	return ctrl.Result{}, nil
}

// judge decides about every Service that the CriticalService matches. It writes
// nothing: the service controller does what the plans say.
func (r *Reconciler) judge(ctx context.Context, policy *criticalv2.CriticalService) ([]summary.Verdict, error) {
	var matched []*corev1.Service
	watched := policy.DeepCopy()
	watched.Spec.Namespaces = slices.DeleteFunc(watched.Spec.Namespaces, func(name string) bool { return !r.watches(name) })
	if len(policy.Spec.Namespaces) > 0 && len(watched.Spec.Namespaces) == 0 {
		return nil, nil // The caches know nothing of these namespaces.
	}
	observe.EachMatched(ctx, r.Cached, watched, func(service *corev1.Service) { matched = append(matched, service) })

	var verdicts []summary.Verdict
	for _, service := range matched {
		key := client.ObjectKeyFromObject(service)
		snap, err := r.Observe(ctx, key)
		if err != nil {
			return nil, err
		}
		if plan := decide.Decide(snap); plan.Governor != nil {
			verdicts = append(verdicts, summary.Verdict{
				Service: service, Plan: plan, Cause: r.Memory.Cause(key), Check: r.Check(key, &snap),
			})
		}
	}
	return verdicts, nil
}

// unwatched lists the namespaces of the spec that the operator does not look at.
func (r *Reconciler) unwatched(policy *criticalv2.CriticalService) []string {
	return slices.DeleteFunc(slices.Clone(policy.Spec.Namespaces), r.watches)
}

func (r *Reconciler) watches(namespace string) bool {
	return len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, namespace)
}

// emit sends the events that a change of the status is worth.
func (r *Reconciler) emit(before, after *criticalv2.CriticalService, verdicts []summary.Verdict) {
	services := map[client.ObjectKey]*corev1.Service{}
	for _, verdict := range verdicts {
		services[client.ObjectKeyFromObject(verdict.Service)] = verdict.Service
	}
	for _, w := range warnings(before.Status.Details, after.Status.Details) {
		if w.service == nil {
			r.Emit(after, nil, corev1.EventTypeWarning, w.reason, "PrepareFallback", "%s", w.message)
		} else {
			r.Emit(services[*w.service], after, corev1.EventTypeWarning, w.reason, "PrepareFallback", "%s", w.message)
		}
	}
}
