package protect

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/controller/read"
)

const (
	// tablesAfter lets the changes of a table gather: it has 1 MB at most, and any user of
	// its namespace may write it in a loop.
	tablesAfter = 100 * time.Millisecond
	// tablesAtOnce is how many tables are compared at the same time.
	tablesAtOnce = 2
)

// setupTables adds the controller that compares the table of a responder with the one
// before. Its key is the namespace.
func (r *Reconciler) setupTables(mgr ctrl.Manager) error {
	r.tables = queue.NewWaker(tablesAfter)
	return builder.TypedControllerManagedBy[reconcile.Request](mgr).
		Named("table").
		WatchesRawSource(r.tables).
		WithOptions(queue.Options(tablesAtOnce)).
		Complete(reconcile.Func(r.compareTable))
}

// compareTable wakes the Services with a page whose listeners are others than before: a
// table changes with each Service that is armed.
func (r *Reconciler) compareTable(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	namespace := req.Name
	pages := observe.ServicesWithPage(ctx, r.Cached, namespace)
	if len(pages) == 0 {
		r.Memory.Compared.Delete(namespace)
		return ctrl.Result{}, nil
	}
	config, err := read.Existing[corev1.ConfigMap](ctx, r.Cached, types.NamespacedName{Namespace: namespace, Name: criticalv2.ResponderName})
	if err != nil {
		return ctrl.Result{}, err
	}
	var now map[string][]listener.Listener
	if config != nil && config.Labels[criticalv2.LabelResponder] == criticalv2.ResponderListeners {
		now = r.Table(ctx, config)
	}
	var before map[string][]listener.Listener
	if last := r.Memory.Compared.Get(namespace); last != nil {
		before = *last
	}
	r.Memory.Compared.Set(namespace, now)
	for name := range pages {
		if !equality.Semantic.DeepEqual(before[name], now[name]) {
			r.Protect.Wake(types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return ctrl.Result{}, nil
}
