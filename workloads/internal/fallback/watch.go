package fallback

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/controller/read"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
)

// Kind is the core's kind, so far as the API server serves it.
type Kind interface {
	// Available reports whether it is served now. Its first answer is right already:
	// otherwise every workload would say for a moment that it is not protected.
	Available() bool
	// Changed is closed when the answer changes next.
	Changed() <-chan struct{}
}

// reopenAfter is when to read again what could not be read: what is served is not known to
// all parts of the API server at the same moment.
const reopenAfter = 5 * time.Second

// Watch follows the ServiceFallbacks of the workloads while they are served. It has a cache
// of its own: that of the manager does not start where a kind is missing.
type Watch struct {
	kind   Kind
	open   func() (cache.Cache, error)
	filled atomic.Pointer[cache.Cache]
	owners []owners
}

// owners are the workloads of one kind.
type owners struct {
	kind  string
	waker *queue.Waker
	all   func(context.Context) []types.NamespacedName
}

// NewWatch makes a Watch that runs with the manager, in the given namespaces; none is all.
func NewWatch(mgr ctrl.Manager, kind Kind, namespaces []string) (*Watch, error) {
	w := &Watch{kind: kind, open: func() (cache.Cache, error) {
		return read.NewCache(mgr.GetConfig(), cache.Options{
			HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
			ByObject: map[client.Object]cache.ByObject{&criticalv2.ServiceFallback{}: {
				Namespaces: read.Namespaces(namespaces), Transform: slim,
				Label: labels.SelectorFromSet(labels.Set{workloadsv1.LabelManagedBy: workloadsv1.ManagedBy}),
			}},
		})
	}}
	if err := mgr.Add(w); err != nil {
		return nil, fmt.Errorf("run the watch of ServiceFallbacks: %w", err)
	}
	return w, nil
}

// maxSpec is how many bytes of a spec are kept, as JSON: as many as the core honours.
const maxSpec = 16 << 10

// slim keeps what a decision reads. A spec that is too large differs from all that is wanted.
func slim(object any) (any, error) {
	fallback, is := object.(*criticalv2.ServiceFallback)
	if !is {
		return object, nil // A tombstone.
	}
	kept := &criticalv2.ServiceFallback{ObjectMeta: read.Meta(&fallback.ObjectMeta)}
	kept.OwnerReferences = read.Controller(&fallback.ObjectMeta)
	kept.Labels = read.Only(fallback.Labels, workloadsv1.LabelApp, workloadsv1.LabelDatabase, workloadsv1.LabelWebApp, workloadsv1alpha1.LabelETCDInstance, workloadsv1.LabelManagedBy)
	kept.Annotations = read.OnlyShort(fallback.Annotations, workloadsv1.AnnotationApplied)
	// API types always marshal.
	if spec, _ := json.Marshal(&fallback.Spec); len(spec) <= maxSpec {
		kept.Spec = fallback.Spec
	}
	kept.Status.ObservedGeneration = fallback.Status.ObservedGeneration
	if detail := fallback.Status.DetailOf(fallback.Namespace, fallback.Name); detail != nil {
		kept.Status.Details = []criticalv2.ServiceStatus{{
			Namespace: detail.Namespace, Name: detail.Name, State: detail.State, Reason: detail.Reason, Message: detail.Message,
		}}
	}
	if ready := meta.FindStatusCondition(fallback.Status.Conditions, criticalv2.ConditionReady); ready != nil {
		kept.Status.Conditions = []metav1.Condition{*ready}
	}
	return kept, nil
}

// Source wakes the workloads of a kind when the core says something else of them. All lists
// their names, for the moment in which the core comes or goes. It is called before the
// manager starts.
func (w *Watch) Source(kind string, all func(context.Context) []types.NamespacedName) source.Source {
	waker := queue.NewWaker(0)
	w.owners = append(w.owners, owners{kind, waker, all})
	return waker
}

// See reads what is known of the ServiceFallback of a Service: from the API server until the
// cache is full, since a Service that is made meanwhile would have none. Where the API server
// refuses that, the workload says so, and runs without.
func (w *Watch) See(ctx context.Context, live client.Reader, key types.NamespacedName) (Seen, error) {
	if !w.kind.Available() {
		return Seen{}, nil
	}
	seen := Seen{Served: true}
	var err error
	if filled := w.filled.Load(); filled != nil {
		seen.Object, err = read.Existing[criticalv2.ServiceFallback](ctx, *filled, key)
	}
	if err == nil && seen.Object == nil {
		seen.Object, err = read.Existing[criticalv2.ServiceFallback](ctx, live, key)
	}
	if fault.IsRefusal(err) {
		seen.Refuse(err)
		err = nil
	}
	return seen, err
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: the next leader has a full
// cache.
func (w *Watch) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (w *Watch) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		changed := w.kind.Changed()
		if !w.kind.Available() {
			w.wakeAll(ctx)
			wait(ctx, changed, nil)
			continue
		}
		if err := w.follow(ctx, changed); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "read the ServiceFallbacks; retrying", "after", reopenAfter)
			timer := time.NewTimer(reopenAfter)
			wait(ctx, changed, timer.C)
			timer.Stop()
		}
	}
	return nil
}

func wait(ctx context.Context, changed <-chan struct{}, again <-chan time.Time) {
	select {
	case <-ctx.Done():
	case <-changed:
	case <-again:
	}
}

// follow reads the ServiceFallbacks until they are no longer served.
func (w *Watch) follow(ctx context.Context, changed <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		wait(ctx, changed, nil)
	}()
	opened, err := w.open()
	if err != nil {
		return err
	}
	informer, err := opened.GetInformer(ctx, &criticalv2.ServiceFallback{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	if _, err := informer.AddEventHandler(w.handler()); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- opened.Start(ctx) }()
	if opened.WaitForCacheSync(ctx) {
		w.filled.Store(&opened)
		defer w.filled.Store(nil)
		w.wakeAll(ctx)
	}
	return <-ended
}

// handler wakes the workload that a ServiceFallback belongs to.
func (w *Watch) handler() toolscache.ResourceEventHandler {
	wake := func(object any) {
		if gone, is := object.(toolscache.DeletedFinalStateUnknown); is {
			object = gone.Obj
		}
		fallback, is := object.(*criticalv2.ServiceFallback)
		if !is {
			return
		}
		owner := metav1.GetControllerOf(fallback)
		for _, of := range w.owners {
			if owner != nil && owner.Kind == of.kind {
				of.waker.Wake(types.NamespacedName{Namespace: fallback.Namespace, Name: owner.Name})
			}
		}
	}
	// One that has lost its owner wakes the one that it had.
	return toolscache.ResourceEventHandlerFuncs{AddFunc: wake, UpdateFunc: func(was, now any) { wake(was); wake(now) }, DeleteFunc: wake}
}

func (w *Watch) wakeAll(ctx context.Context) {
	for _, of := range w.owners {
		for _, key := range of.all(ctx) {
			of.waker.Wake(key)
		}
	}
}
