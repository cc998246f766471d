package write

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/fault"
)

// Values of the label result of the counter of writes.
const (
	resultOK = "ok"
	// resultLate: the object had changed, gone, or come since the caches were read.
	resultLate = "late"
	// resultRefused: the API server does not accept the write.
	resultRefused = "refused"
	// resultFailed: there was no answer, or one that a moment later may be another.
	resultFailed = "failed"
)

// Counted is a client whose writes are counted, and carry the core's field manager.
// Several kinds may share a registry: they then share the counter. Nothing is registered
// where it is nil.
func Counted(c client.Client, registry prometheus.Registerer) (client.Client, error) {
	return CountedAs(c, FieldManager, registry)
}

// CountedAs is Counted for an operator with a field manager of its own.
func CountedAs(c client.Client, fieldManager string, registry prometheus.Registerer) (client.Client, error) {
	c = client.WithFieldOwner(c, fieldManager)
	writes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "critical_service_writes_total",
		Help: "Writes to the API server, by the kind of object, the verb (create, dry-run, patch, apply, delete, status) and the result (ok, late, refused, failed).",
	}, []string{"kind", "verb", "result"})
	if registry == nil {
		return &counted{Client: c, writes: writes}, nil
	}
	err := registry.Register(writes)
	if registered, already := errors.AsType[prometheus.AlreadyRegisteredError](err); already {
		writes, err = registered.ExistingCollector.(*prometheus.CounterVec), nil
	}
	return &counted{Client: c, writes: writes}, err
}

type counted struct {
	client.Client
	writes *prometheus.CounterVec
}

func (c *counted) count(object runtime.Object, verb string, err error) error {
	kind := "unknown"
	if gvk, problem := c.GroupVersionKindFor(object); problem == nil {
		kind = gvk.Kind
	}
	c.writes.WithLabelValues(kind, verb, resultOf(err)).Inc()
	return err
}

func resultOf(err error) string {
	switch class := fault.Of(err); {
	case class == fault.None:
		return resultOK
	case class == fault.Gone, apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return resultLate
	case class == fault.UserMustAct:
		return resultRefused
	default:
		return resultFailed
	}
}

// Create creates an object, or asks whether it would be accepted.
func (c *counted) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	verb := "create"
	if len((&client.CreateOptions{}).ApplyOptions(options).DryRun) > 0 {
		verb = "dry-run"
	}
	return c.count(object, verb, c.Client.Create(ctx, object, options...))
}

// Patch changes an object.
func (c *counted) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	return c.count(object, "patch", c.Client.Patch(ctx, object, patch, options...))
}

// Apply applies an object.
func (c *counted) Apply(ctx context.Context, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	err := c.Client.Apply(ctx, object, options...)
	if object, isObject := object.(runtime.Object); isObject {
		return c.count(object, "apply", err)
	}
	return err
}

// Delete deletes an object.
func (c *counted) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return c.count(object, "delete", c.Client.Delete(ctx, object, options...))
}

// Status is a client of statuses whose writes are counted.
func (c *counted) Status() client.SubResourceWriter {
	return &countedStatus{SubResourceWriter: c.Client.Status(), of: c}
}

type countedStatus struct {
	client.SubResourceWriter
	of *counted
}

// Patch changes the status of an object.
func (s *countedStatus) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	return s.of.count(object, "status", s.SubResourceWriter.Patch(ctx, object, patch, options...))
}
