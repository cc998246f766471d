package criticalservice

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv1 "github.com/critical-service/operator/api/v1"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/internal/fault"
	"github.com/critical-service/operator/controllers/internal/write"
)

// StatusReconciler summarises, per CriticalService, what was decided about the
// Services it matches. It protects nothing.
type StatusReconciler struct {
	observer
	announcer
	client client.Client
	// namespaces are those that the operator looks at; empty is all.
	namespaces []string
}

// +kubebuilder:rbac:groups=mycrd.com,resources=criticalservices/status,verbs=patch

// Reconcile writes the status where it differs, and then sends the events that
// the difference is worth.
func (r *StatusReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	policy := &criticalv1.CriticalService{}
	if err := r.cached.Get(ctx, req.NamespacedName, policy); err != nil {
		return fault.Result(err)
	}
	verdicts, err := r.judge(ctx, policy)
	if err != nil {
		return fault.Result(err)
	}
	updated := policy.DeepCopy()
	updated.Status = decide.Summarize(policy, verdicts, r.watches(policy.Spec.Namespace), r.clock.Now())
	wrote, err := write.Status(ctx, r.client, policy, updated.DeepCopy())
	if apierrors.IsInvalid(err) {
		return fault.Result(fault.BugFrom(err))
	}
	if err != nil {
		return fault.Result(err)
	}
	if wrote {
		r.announce(policy, updated, verdicts)
	}
	return ctrl.Result{}, nil
}

// judge decides about every Service that the CriticalService matches. It writes
// nothing: the service controller does what the plans say.
func (r *StatusReconciler) judge(ctx context.Context, policy *criticalv1.CriticalService) ([]decide.Verdict, error) {
	if !r.watches(policy.Spec.Namespace) {
		return nil, nil // The cache knows nothing of that namespace.
	}
	var services corev1.ServiceList
	if err := r.cached.List(ctx, &services, client.InNamespace(policy.Spec.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var verdicts []decide.Verdict
	for i := range services.Items {
		service := &services.Items[i]
		if !decide.Matches(policy, service) {
			continue
		}
		snap, err := r.observe(ctx, client.ObjectKeyFromObject(service))
		if err != nil {
			return nil, err
		}
		if plan := decide.Decide(snap); plan.Governor != nil {
			verdicts = append(verdicts, decide.Verdict{Service: service, Plan: plan})
		}
	}
	return verdicts, nil
}

func (r *StatusReconciler) watches(namespace string) bool {
	return namespace == "" || len(r.namespaces) == 0 || slices.Contains(r.namespaces, namespace)
}

// announce sends one Warning event for every hindrance that is new, and for every
// outage that begins hindered: on the CriticalService if it is about all its
// Services, else on the Service.
func (r *StatusReconciler) announce(before, after *criticalv1.CriticalService, verdicts []decide.Verdict) {
	services := map[client.ObjectKey]*corev1.Service{}
	for _, verdict := range verdicts {
		services[client.ObjectKeyFromObject(verdict.Service)] = verdict.Service
	}
	said := map[client.ObjectKey]criticalv1.ServiceStatus{}
	templateMissing := false
	for _, detail := range before.Status.Details {
		said[client.ObjectKey{Namespace: detail.Namespace, Name: detail.Name}] = detail
		templateMissing = templateMissing || detail.Reason == criticalv1.ReasonTemplateNotFound
	}
	for _, detail := range after.Status.Details {
		key := client.ObjectKey{Namespace: detail.Namespace, Name: detail.Name}
		begins := detail.State == criticalv1.StateExposed && said[key].State != criticalv1.StateExposed
		if !decide.Hinders(detail.Reason) || detail.Reason == said[key].Reason && !begins {
			continue
		}
		if detail.Reason != criticalv1.ReasonTemplateNotFound || templateMissing && begins {
			r.tell(services[key], after, corev1.EventTypeWarning, detail.Reason, "PrepareFallback", "%s", detail.Message)
		} else if !templateMissing {
			r.tell(after, nil, corev1.EventTypeWarning, detail.Reason, "PrepareFallback", "%s", detail.Message)
			templateMissing = true
		}
	}
}
