// Package reading reads the PodTemplates that CriticalServices name. Any user of a
// namespace can write as many as fit into it, so that they are watched by their metadata
// only, and each version of one that a protected Service needs is read once, apart from
// all that protects. Its key is the PodTemplate.
package reading

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/controller/read"
)

const (
	// interval is the least time between two reads of one PodTemplate: a user who writes
	// it in a loop must not keep the operator busy.
	interval = time.Second
	// readTimeout bounds one read, so that none holds up the others for long.
	readTimeout = 5 * time.Second
)

// Readings are of the PodTemplates that protected Services need. They are kept in memory
// only.
type Readings struct {
	memory *memory.Memory
	asked  *queue.Waker
	// Changed wakes the Services whose PodTemplate was read.
	Changed *queue.Waker
}

// NewReadings makes them.
func NewReadings(known *memory.Memory) *Readings {
	return &Readings{memory: known, asked: queue.NewWaker(0), Changed: queue.NewWaker(0)}
}

// Follow asks for the PodTemplates that a decision lacked. It never waits.
func (r *Readings) Follow(snap *decide.Snapshot) {
	for _, key := range snap.Unread {
		r.memory.Templates.Update(memory.ObjectKey(key), func(last *memory.Reading[*corev1.PodTemplate]) *memory.Reading[*corev1.PodTemplate] {
			if last == nil {
				return &memory.Reading[*corev1.PodTemplate]{}
			}
			return last
		})
		r.asked.Wake(key)
	}
}

// Reconciler reads one PodTemplate per key. It protects nothing, and writes nothing.
type Reconciler struct {
	observe.Observer
	Readings *Readings
}

// Setup adds the controller to the manager. One worker is enough: of each PodTemplate
// there is one read for each version, and never are two of them in memory that are too
// large.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("template").
		For(&corev1.PodTemplate{}, builder.OnlyMetadata).
		Watches(&criticalv2.CriticalService{}, wake.EachState(r.known), builder.WithPredicates(wake.SpecChanged)).
		WatchesRawSource(r.Readings.asked).
		WithOptions(queue.Options(1)).
		Complete(r)
}

// known wakes all PodTemplates that were asked for: no CriticalService may name them any
// more.
func (r *Reconciler) known(_ context.Context, _ client.Object, q queue.Requests) {
	for _, key := range r.Memory.Templates.Keys() {
		q.Add(ctrl.Request{NamespacedName: types.NamespacedName(key)})
	}
}

// Reconcile reads a PodTemplate that changed since it was read last, if a Service asked
// for it and a CriticalService still names it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	key := memory.ObjectKey(req.NamespacedName)
	last := r.Memory.Templates.Get(key)
	if last == nil {
		return ctrl.Result{}, nil // No one asked.
	}
	metadata, err := r.TemplateMetadata(ctx, r.Cached, req.NamespacedName)
	if err != nil {
		return fault.Result(err)
	}
	if metadata == nil || !r.Settings.Templates().IsNamed(req.NamespacedName, observe.Policies(ctx, r.Cached)) {
		r.Memory.Templates.Delete(key)
		return ctrl.Result{}, nil
	}
	if last.UID == metadata.UID && last.Version == metadata.ResourceVersion {
		return ctrl.Result{}, nil
	}
	if left := last.At.Add(interval).Sub(r.Clock.Now()); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	next, err := r.read(ctx, req.NamespacedName)
	if err != nil || next == nil {
		return fault.Result(err)
	}
	r.Memory.Templates.Set(key, *next)
	if !same(last, next) {
		observe.EachUserOfTemplate(ctx, r.Cached, r.Settings.Templates(), req.NamespacedName, func(service *corev1.Service) {
			r.Readings.Changed.Wake(client.ObjectKeyFromObject(service))
		})
	}
	return ctrl.Result{}, nil
}

// read reads a PodTemplate from the API server, because the cache has its metadata only;
// nil if there is none any more, which the cache is about to show.
func (r *Reconciler) read(ctx context.Context, key types.NamespacedName) (*memory.Reading[*corev1.PodTemplate], error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	found, err := read.Existing[corev1.PodTemplate](ctx, r.Live, key)
	if err != nil || found == nil {
		return nil, err
	}
	next := &memory.Reading[*corev1.PodTemplate]{UID: found.UID, Version: found.ResourceVersion, At: r.Clock.Now()}
	text, err := json.Marshal(found.Template)
	if err != nil {
		return nil, err
	}
	if len(text) <= decide.MaxTemplate {
		next.Value = &corev1.PodTemplate{
			ObjectMeta: metav1.ObjectMeta{Namespace: found.Namespace, Name: found.Name, UID: found.UID, ResourceVersion: found.ResourceVersion},
			Template:   found.Template,
		}
	}
	return next, nil
}

// same reports whether two readings say the same of a Pod.
func same(last, next *memory.Reading[*corev1.PodTemplate]) bool {
	if last.UID != next.UID || last.Value == nil || next.Value == nil {
		return last.UID == next.UID && last.Value == next.Value
	}
	return equality.Semantic.DeepEqual(last.Value.Template, next.Value.Template)
}
