package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/scorecard/verdict"
	"github.com/critical-service/operator/test/scorecard/world"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// protected: with the core the Database is born protected, and without it says what to install.
func protected(ctx context.Context, w *world.World) error {
	d, err := makeDatabase(ctx, w, nil)
	if err != nil {
		return err
	}
	served, err := servesFallbacks(ctx, w)
	if err != nil {
		return err
	}
	if !served {
		w.Journal.Say("The API server does not serve ServiceFallbacks: critical-service-operator is not installed.")
		return awaitRemedy(ctx, w, d)
	}
	reason, err := awaitCondition(ctx, w, d, workloadsv1.ConditionProtected, "Look up the reason in docs/spec/database.md and docs/spec/criticalservice.md. ")
	if reason == workloadsv1.ReasonFallbackPending || reason == criticalv2.ConditionReasonNamespaceNotWatched {
		// The core does not look at the namespace, and the Database says so.
		return world.AsPrevented(err)
	}
	if err != nil {
		return err
	}
	fallback := &criticalv2.ServiceFallback{}
	if err := belongs(ctx, w, d, "ServiceFallback", fallback, d.Name); err != nil {
		return err
	}
	if !slices.Equal(fallback.Spec.Services, []string{d.Name}) {
		return verdict.Failed(defect, "ServiceFallback %s is for the Services %q, and should be for %s", fallback.Name, fallback.Spec.Services, d.Name)
	}
	return nil
}

// servesFallbacks reports whether the core's kind is there.
func servesFallbacks(ctx context.Context, w *world.World) (bool, error) {
	err := w.List(ctx, &criticalv2.ServiceFallbackList{}, client.InNamespace(w.Namespace), client.Limit(1))
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// awaitRemedy waits until a Database without the core says what to install.
func awaitRemedy(ctx context.Context, w *world.World, d *workloadsv1.Database) error {
	const remedy = "install critical-service-operator"
	return w.Await(ctx, "a Database that says what to install", func(ctx context.Context) (world.Observation, error) {
		if err := w.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
			return world.Observation{}, err
		}
		condition := conditionOf(d, workloadsv1.ConditionProtected)
		if condition == nil {
			return world.Observation{Text: "the operator has not said whether it is Protected", Suggestion: w.OperatorLog()}, nil
		}
		return world.Observation{
			Done: condition.Status == metav1.ConditionFalse && condition.Reason == workloadsv1.ReasonFallbackUnavailable &&
				strings.Contains(condition.Message, remedy),
			Text:       fmt.Sprintf("Protected=%s, %s: %s", condition.Status, condition.Reason, condition.Message),
			Suggestion: defect,
		}, nil
	})
}
