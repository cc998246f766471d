// Package outage takes an application away on purpose, for a maintenance or a live
// drill, and gives it back: it scales the one workload behind a Service to zero with
// the permissions of the user, and lets the operator give it back should the plugin die.
//
// What is to be given back stands in a ConfigMap (api/v2, Maintenance) before
// anything is taken. A Role beside it permits the operator what it takes to end this:
// to scale that workload, and to delete that ConfigMap. It goes with the ConfigMap.
package outage

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
)

// fieldOwner is the name under which the plugin owns fields.
const fieldOwner = client.FieldOwner("kubectl-critsvc")

// Options say which outage is wanted.
type Options struct {
	// Service whose application is taken away.
	Service types.NamespacedName
	// Message is a sentence for users, shown on the page; it may be empty.
	Message string
	// Until is when the operator ends the outage by itself; zero is never.
	Until time.Time
	// KeepFallback announces nothing: the Service's own fallback answers, whatever kind
	// it is, as in an unplanned outage.
	KeepFallback bool
	// OperatorNamespace and OperatorServiceAccount name the account that gets the permission to end it.
	// Where they are empty, the operator is looked for.
	OperatorNamespace, OperatorServiceAccount string
}

// Begin takes the application of a Service away, and returns what gives it back. It
// returns as soon as the API server has accepted that; the Pods end after it. What
// was done before an error is undone.
//
// It refuses where not exactly one workload with a scale stands behind the Service
// (ErrNoWorkload), where that has no replicas, where a maintenance or a drill of the
// Service is under way, and where the operator that is to end it was not found
// (ErrNoOperator).
func Begin(ctx context.Context, to client.Client, options Options) (end func(context.Context) error, err error) {
	service, err := access.GetService(ctx, to, options.Service)
	if err != nil {
		return nil, err
	}
	workload, err := Find(ctx, to, service)
	if err != nil {
		return nil, err
	}
	if workload.Replicas == 0 {
		return nil, fmt.Errorf("%s has no replicas: %w", workload, ErrNoWorkload)
	}
	if err := workload.DryRun(ctx, to); err != nil {
		return nil, err
	}
	m := &criticalv2.Maintenance{
		Service: service.Name, Silent: options.KeepFallback, Workload: workload.Owed(),
		Announcement: criticalv2.Announcement{Message: options.Message, Until: Ending(options.Until)},
	}
	operator, err := options.operator(ctx, to)
	if err != nil {
		return nil, err
	}
	config, err := Declare(ctx, to, service.Namespace, m, operator)
	if err != nil {
		return nil, err
	}
	end = func(ctx context.Context) error { return End(ctx, to, config) }
	if err := workload.ScaleDown(ctx, to); err != nil {
		if undone := end(context.WithoutCancel(ctx)); undone != nil {
			return nil, fmt.Errorf("%w; and deleting ConfigMap %q failed: %w", err, config.Name, undone)
		}
		return nil, err
	}
	return end, nil
}

// Ending is a time as a maintenance says it: to the second, and nil for never.
func Ending(until time.Time) *metav1.Time {
	if until.IsZero() {
		return nil
	}
	return new(metav1.NewTime(until.Truncate(time.Second).UTC()))
}

// End gives a workload back what it had, if it still has nothing, and deletes the
// ConfigMap that says so. Neither is an error where the operator did it already.
func End(ctx context.Context, to client.Client, config *corev1.ConfigMap) error {
	if err := Restore(ctx, to, config); err != nil {
		return err
	}
	return Forget(ctx, to, config)
}

// Restore gives a workload back what it had, if it still has nothing. Where the
// ConfigMap is gone, what it said when it was last read holds.
func Restore(ctx context.Context, to client.Client, config *corev1.ConfigMap) error {
	current := &corev1.ConfigMap{}
	err := to.Get(ctx, client.ObjectKeyFromObject(config), current)
	switch {
	case apierrors.IsNotFound(err):
		return restoreFromMemory(ctx, to, config, nil)
	case err != nil:
		return fmt.Errorf("read ConfigMap %s: %w", client.ObjectKeyFromObject(config), err)
	case current.UID != config.UID:
		return restoreFromMemory(ctx, to, config, current)
	}
	debt, err := debtOf(current)
	if err != nil || debt.Workload == nil {
		return err
	}
	return giveBack(ctx, to, config.Namespace, debt.Workload)
}

// restoreFromMemory gives back what a ConfigMap owed that is gone, or in whose place
// there is another. The operator gives nothing back before the end, so that until then
// a user deleted it without knowing what it owed. Afterwards it is not known whether
// the workload has no replicas on purpose.
func restoreFromMemory(ctx context.Context, to client.Client, config, other *corev1.ConfigMap) error {
	debt, err := debtOf(config)
	if err != nil || debt.Workload == nil {
		return err
	}
	if other != nil && owes(other, debt.Workload) {
		return nil // That one is going to give it back.
	}
	if !debt.IsOver(time.Now()) {
		return giveBack(ctx, to, config.Namespace, debt.Workload)
	}
	away, err := IsAway(ctx, to, config.Namespace, debt.Workload)
	if err == nil && away && debt.Workload.Replicas > 0 {
		err = fmt.Errorf("ConfigMap %s is gone, and %s has no replicas: either the operator gave them back and another user scaled it down since, or they were never given back; "+
			"`%s` gives them back", client.ObjectKeyFromObject(config), debt.Workload, scaleCommand(config.Namespace, debt.Workload))
	}
	return err
}

// debtOf is what a ConfigMap says is to be given back. What its other keys say does
// not matter for that.
func debtOf(config *corev1.ConfigMap) (*criticalv2.Maintenance, error) {
	debt, err := criticalv2.ParseMaintenanceDebt(config.Name, config.Data)
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s does not say what to give back: %w; "+
			"give it back by `kubectl scale -n %s RESOURCE/NAME --replicas=NUMBER`, then end it by `kubectl delete configmap -n %s %s`",
			client.ObjectKeyFromObject(config), err, config.Namespace, config.Namespace, config.Name)
	}
	return debt, nil
}

func owes(config *corev1.ConfigMap, w *criticalv2.MaintainedWorkload) bool {
	debt, err := criticalv2.ParseMaintenanceDebt(config.Name, config.Data)
	return err == nil && debt.Workload != nil && debt.Workload.String() == w.String()
}

// Forget deletes a ConfigMap; the Role beside it goes with it.
func Forget(ctx context.Context, to client.Client, config *corev1.ConfigMap) error {
	uid := config.UID
	err := to.Delete(ctx, config.DeepCopy(), client.Preconditions{UID: &uid})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete ConfigMap %s: %w", client.ObjectKeyFromObject(config), err)
	}
	return nil
}
