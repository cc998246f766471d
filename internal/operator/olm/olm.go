// Package olm reports to the Operator Lifecycle Manager (OLM) whether it may
// upgrade the operator: always, except while stored objects are being rewritten.
//
// OLM makes an OperatorCondition for every version that it installs, names it in
// the environment, and lets the operator read and write that one object: see
// ensureOperatorConditionRole in OLM's operatorcondition_controller.go. So there
// is no permission to ask for here, and none to watch it. Without OLM there is
// no such object, and nothing happens.
//
// Nothing is remembered. Whether a migration runs follows from the
// CustomResourceDefinition, so that the next leader corrects what a killed
// process has left.
package olm

import (
	"context"
	"fmt"
	"time"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/operator/crdcache"
	"github.com/critical-service/operator/internal/operator/storageversion"
)

// Variable is the environment variable in which OLM names the OperatorCondition.
// It is in the operator's own namespace.
const Variable = "OPERATOR_CONDITION_NAME"

// Reasons of the condition Upgradeable.
const (
	// ReasonNoMigration says that OLM may upgrade the operator.
	ReasonNoMigration = "NoStorageMigration"
	// ReasonMigration says that OLM has to wait.
	ReasonMigration = "StorageMigration"
)

const (
	lastRetry = 10 * time.Second
)

// reporter keeps the condition Upgradeable as the definition wants it.
type reporter struct {
	definitions client.Reader
	conditions  client.Client
	// kind is what is rewritten.
	kind crdcache.Kind
	// name is that of the OperatorCondition.
	name types.NamespacedName
}

// Setup lets the leader keep the condition. A write that fails is retried, and
// blocks nothing: OLM takes a missing condition for True. An empty name adds
// nothing.
//
// The function that it returns reports to OLM at once, for a migration that is about
// to begin: a short one would otherwise be over before OLM knows of it.
func Setup(mgr ctrl.Manager, definitions cluster.Cluster, kind crdcache.Kind, name types.NamespacedName) (func(context.Context) error, error) {
	if name.Name == "" {
		return func(context.Context) error { return nil }, nil
	}
	scheme := runtime.NewScheme()
	if err := operatorsv2.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("know the kind OperatorCondition: %w", err)
	}
	// A client without a cache: there is one object to read, and it may not be watched.
	conditions, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client for OperatorCondition %s: %w", name, err)
	}
	r := &reporter{definitions: definitions.GetAPIReader(), conditions: conditions, kind: kind, name: name}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("upgradeable").
		WatchesRawSource(source.Kind(definitions.GetCache(), &apiextensionsv1.CustomResourceDefinition{},
			&handler.TypedEnqueueRequestForObject[*apiextensionsv1.CustomResourceDefinition]{})).
		WithOptions(controller.Options{
			RateLimiter: queue.Backoff[reconcile.Request](lastRetry),
		}).
		Complete(reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, r.report(ctx)
		}))
	if err != nil {
		return nil, fmt.Errorf("set up the condition Upgradeable for OLM: %w", err)
	}
	return r.report, nil
}

func (r *reporter) report(ctx context.Context) error {
	var condition operatorsv2.OperatorCondition
	if err := r.conditions.Get(ctx, r.name, &condition); err != nil {
		return fmt.Errorf("read OperatorCondition %s, which OLM creates and permits: %w", r.name, err)
	}
	// Read after the OperatorCondition, so that the write conflicts if another replica
	// has written something newer meanwhile.
	var crd apiextensionsv1.CustomResourceDefinition
	if err := client.IgnoreNotFound(r.definitions.Get(ctx, types.NamespacedName{Name: r.kind.Definition()}, &crd)); err != nil {
		return fmt.Errorf("read CustomResourceDefinition %s: %w", r.kind.Definition(), err)
	}
	change := client.MergeFromWithOptions(condition.DeepCopy(), client.MergeFromWithOptimisticLock{})
	wanted := upgradeable(&crd, r.kind)
	if !meta.SetStatusCondition(&condition.Spec.Conditions, wanted) {
		return nil
	}
	if err := r.conditions.Patch(ctx, &condition, change); err != nil {
		return fmt.Errorf("update condition Upgradeable of OperatorCondition %s: %w", r.name, err)
	}
	log.FromContext(ctx).Info("updated condition Upgradeable for OLM", "upgradeable", wanted.Status, "reason", wanted.Reason)
	return nil
}

// upgradeable is the condition as the definition wants it. An outage does not block
// an upgrade: a standby answers without the operator.
func upgradeable(crd *apiextensionsv1.CustomResourceDefinition, kind crdcache.Kind) metav1.Condition {
	if storageversion.Runs(crd, kind) {
		return metav1.Condition{
			Type: operatorsv2.Upgradeable, Status: metav1.ConditionFalse, Reason: ReasonMigration,
			Message: kind.Kind + "s that may be stored in an earlier version are being rewritten. This ends by itself, " +
				"usually within seconds; if it does not, the operator's log says why.",
		}
	}
	return metav1.Condition{
		Type: operatorsv2.Upgradeable, Status: metav1.ConditionTrue, Reason: ReasonNoMigration,
		Message: "No " + kind.Kind + " is being rewritten in storage. Services in an outage stay covered during an upgrade.",
	}
}
