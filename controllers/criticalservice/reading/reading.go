// Package reading reads the objects that CriticalServices name: ConfigMaps with the
// content of pages, and PodTemplates. Any user of a namespace can write as many as fit
// into it, so that they are watched by their metadata only, and each version of one that a
// protected Service needs is read once, apart from all that protects.
package reading

import (
	"cmp"
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/internal/contract/page"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/queue"
)

const (
	// interval is the least time between two reads of one object: a user who writes it
	// in a loop must not keep the operator busy.
	interval = time.Second
	// readTimeout bounds one read, so that none holds up the others for long.
	readTimeout = 5 * time.Second
)

// Readers read what decisions lack.
type Readers struct {
	// Changed wakes the Services that need something that says something else than
	// before.
	Changed   *queue.Waker
	contents  *reader[[]page.Problem]
	templates *reader[*corev1.PodTemplate]
	// noPods is true where PodTemplates are not watched.
	noPods bool
}

// New makes them. What was found in content wakes the status of CriticalServices as well:
// it may have waited for that, whatever it is.
func New(observer observe.Observer, status wake.Status) *Readers {
	changed := queue.NewWaker(0)
	judged := func(service types.NamespacedName) {
		changed.Wake(service)
		status.About(service)
	}
	return &Readers{
		Changed:   changed,
		contents:  newReader(observer, contents{observer}, &observer.Memory.Contents, judged),
		templates: newReader(observer, templates{observer}, &observer.Memory.Templates, changed.Wake),
		noPods:    observer.Settings.NoPods != "",
	}
}

// Follow asks for what a decision lacked. It never waits.
func (r *Readers) Follow(snap *decide.Snapshot) {
	if snap.Content != nil && !snap.Content.Judged {
		r.contents.ask(snap.Needs().Content)
	}
	for _, key := range snap.Unread {
		r.templates.ask(key)
	}
}

// Setup adds a controller for each kind of object to the manager.
func (r *Readers) Setup(mgr ctrl.Manager) error {
	if err := r.contents.setup(mgr, "content", &corev1.ConfigMap{}); err != nil || r.noPods {
		return err
	}
	return r.templates.setup(mgr, "template", &corev1.PodTemplate{})
}

// kind is what is special about one kind of object.
type kind[T any] interface {
	// metadata is what the cache has of an object; nil if there is none, or none is needed
	// any more.
	metadata(ctx context.Context, key types.NamespacedName) (*metav1.PartialObjectMetadata, error)
	// read reads an object from the API server, because the cache has its metadata only;
	// nil if there is none any more, which the cache is about to show.
	read(ctx context.Context, key types.NamespacedName) (*metav1.ObjectMeta, T, error)
	// same reports whether two versions of an object say the same.
	same(last, next T) bool
	// eachUser calls f with every Service whose decision may rest on an object.
	eachUser(ctx context.Context, key types.NamespacedName, f func(*corev1.Service))
}

// reader reads one object per key. It protects nothing, and writes nothing.
type reader[T any] struct {
	kind[T]
	// noTenants is true where ServiceFallbacks are not watched.
	noTenants bool
	clock     clock.PassiveClock
	known     *memory.Readings[T]
	asked     *queue.Waker
	wake      func(service types.NamespacedName)
}

func newReader[T any](observer observe.Observer, of kind[T], known *memory.Readings[T], wake func(types.NamespacedName)) *reader[T] {
	return &reader[T]{kind: of, noTenants: observer.NoTenants, clock: observer.Clock, known: known, asked: queue.NewWaker(0), wake: wake}
}

// ask wants an object to be known.
func (r *reader[T]) ask(key types.NamespacedName) {
	r.known.Update(memory.ObjectKey(key), func(last *memory.Reading[T]) *memory.Reading[T] {
		return cmp.Or(last, &memory.Reading[T]{})
	})
	r.asked.Wake(key)
}

// setup adds the controller to the manager. One worker is enough: of each object there is
// one read for each version, which is on the way of nothing, and never are two of them in
// memory that are too large.
func (r *reader[T]) setup(mgr ctrl.Manager, name string, object client.Object) error {
	objects := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(object, builder.OnlyMetadata).
		Watches(&criticalv2.CriticalService{}, wake.EachState(r.asPolicy), builder.WithPredicates(wake.SpecChanged)).
		WatchesRawSource(r.asked).
		WithOptions(queue.Options(1))
	if !r.noTenants {
		objects = objects.Watches(&criticalv2.ServiceFallback{}, wake.EachState(r.asPolicy), builder.WithPredicates(wake.SpecChanged))
	}
	return objects.Complete(r)
}

// asPolicy wakes the objects that were asked for and that a policy may have named: none may
// name them any more.
func (r *reader[T]) asPolicy(_ context.Context, policy client.Object, q queue.Requests) {
	for _, key := range r.known.Keys() {
		if policy.GetNamespace() == "" || policy.GetNamespace() == key.Namespace {
			q.Add(ctrl.Request{NamespacedName: types.NamespacedName(key)})
		}
	}
}

// Reconcile reads an object that changed since it was read last, if it was asked for and
// is still needed.
func (r *reader[T]) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	key := memory.ObjectKey(req.NamespacedName)
	last := r.known.Get(key)
	if last == nil {
		return ctrl.Result{}, nil // No one asked.
	}
	metadata, err := r.metadata(ctx, req.NamespacedName)
	if err != nil {
		return fault.Result(err)
	}
	if metadata == nil {
		r.known.Delete(key)
		return ctrl.Result{}, nil
	}
	if last.UID == metadata.UID && last.Version == metadata.ResourceVersion {
		return ctrl.Result{}, nil
	}
	if left := last.At.Add(interval).Sub(r.clock.Now()); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	found, value, err := r.read(reading, req.NamespacedName)
	if err != nil || found == nil {
		return fault.Result(err)
	}
	r.known.Set(key, memory.Reading[T]{UID: found.UID, Version: found.ResourceVersion, At: r.clock.Now(), Value: value})
	if last.UID != found.UID || !r.same(last.Value, value) {
		r.eachUser(ctx, req.NamespacedName, func(service *corev1.Service) { r.wake(client.ObjectKeyFromObject(service)) })
	}
	return ctrl.Result{}, nil
}
