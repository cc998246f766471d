// Package outage takes an application away on purpose, for a maintenance or a live
// drill, and gives it back: it scales the one workload behind a Service to zero with
// the permissions of the user, and lets the operator give it back should the plugin die.
//
//	Maintenance ─▶ Role ─▶ spec.restore ─▶ status.owed ─▶ scale to zero
//
// What is owed to the workload is recorded by the operator, in the status of the
// Maintenance, before anything is taken. A Role permits the operator to give that back,
// and no more. It goes with the Maintenance.
package outage

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
)

const (
	// FieldOwner is the name under which the plugin owns fields.
	FieldOwner = client.FieldOwner("kubectl-critsvc")
	// keptSeconds is how long a Maintenance of the plugin is kept after its end.
	keptSeconds = 3600
	// undoTimeout is how long it may take to undo what was done.
	undoTimeout = 30 * time.Second
)

// Options say which outage is wanted.
type Options struct {
	// Service whose application is taken away.
	Service types.NamespacedName
	// Until is when the operator ends the outage by itself.
	Until time.Time
	// Alone decides whether to go on where the operator would not give the application
	// back, and why it would not.
	Alone func(why error) error
}

// Outage is one that was made.
type Outage struct {
	// Began is when the application was taken away.
	Began time.Time

	to client.Client
	m  *criticalv2.Maintenance
}

// Begin takes the application of a Service away for a drill. It returns as soon as the API server has accepted that; the Pods end after it.
// What was done before an error is undone.
//
// It refuses where not exactly one Deployment or StatefulSet stands behind the Service
// (ErrNoWorkload), where that has no replicas, and where a maintenance or a drill of the
// Service is under way.
func Begin(ctx context.Context, to client.Client, options Options) (*Outage, error) {
	workload, err := find(ctx, to, options.Service)
	if err != nil {
		return nil, err
	}
	existing, err := Current(ctx, to, options.Service)
	switch {
	case err != nil:
		return nil, err
	case existing != nil:
		return nil, underWay(existing)
	}
	m := New(options.Service)
	m.Spec.Purpose, m.Spec.Until = criticalv2.PurposeDrill, Ending(options.Until)
	if err := Create(ctx, to, m); err != nil {
		return nil, err
	}
	o := &Outage{to: to, m: m}
	if err := TakeAway(ctx, to, m, workload, options.Alone); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
		defer cancel()
		if undone := o.End(ctx); undone != nil {
			return nil, fmt.Errorf("%w; and to undo what was done failed: %w", err, undone)
		}
		return nil, err
	}
	o.Began = workload.scaled
	return o, nil
}

// End gives the workload back what it had, if it still has nothing, and deletes the
// Maintenance that says so. Neither is an error where it was done already.
func (o *Outage) End(ctx context.Context) error {
	if err := Restore(ctx, o.to, o.m); err != nil {
		return err
	}
	return Forget(ctx, o.to, o.m)
}

// find finds the workload of a Service, which the user may scale down and which has
// replicas.
func find(ctx context.Context, to client.Client, name types.NamespacedName) (*Workload, error) {
	service, err := access.GetService(ctx, to, name)
	if err != nil {
		return nil, err
	}
	workload, err := Find(ctx, to, service)
	switch {
	case err != nil:
		return nil, err
	case workload.Replicas == 0:
		return nil, fmt.Errorf("%s has no replicas: %w", workload, ErrNoWorkload)
	}
	if err := workload.DryRun(ctx, to); err != nil {
		return nil, err
	}
	return workload, nil
}

// New is the Maintenance that the plugin makes for a Service. It has the name of the
// Service, so that there is one at a time.
func New(service types.NamespacedName) *criticalv2.Maintenance {
	return &criticalv2.Maintenance{
		ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: service.Name},
		Spec:       criticalv2.MaintenanceSpec{Services: []string{service.Name}, TTLSecondsAfterFinished: new(int32(keptSeconds))},
	}
}

// Create makes a Maintenance.
func Create(ctx context.Context, to client.Client, m *criticalv2.Maintenance) error {
	err := to.Create(ctx, m, FieldOwner)
	switch {
	case apierrors.IsAlreadyExists(err):
		return underWay(m)
	case err != nil:
		return fmt.Errorf("create Maintenance %q: %w", m.Name, err)
	}
	return nil
}

func underWay(m *criticalv2.Maintenance) error {
	return fmt.Errorf("the Maintenance %q exists: a maintenance or a drill of the Service is under way; "+
		"`kubectl critsvc maintenance off svc/%s -n %s` ends it", m.Name, m.Name, m.Namespace)
}

// Current is the Maintenance that has the name of a Service; nil if there is none. One
// that has ended is deleted. It is an error if it is not about that Service alone.
func Current(ctx context.Context, to client.Client, service types.NamespacedName) (*criticalv2.Maintenance, error) {
	m := &criticalv2.Maintenance{}
	err := to.Get(ctx, service, m)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read Maintenance %q: %w", service.Name, err)
	case IsShared(m) || !m.IsAbout(service.Name):
		return nil, fmt.Errorf("the Maintenance %q has the name that this one needs, and is recurring or about other Services: "+
			"change it by `kubectl edit maintenance %s -n %s`, or delete it and give it another name", m.Name, m.Name, m.Namespace)
	case m.DeletionTimestamp != nil:
		return nil, fmt.Errorf("the Maintenance %q is being deleted, and goes as soon as the operator has given the application back: try again then, "+
			"or end it by `kubectl critsvc maintenance off svc/%s -n %s`", m.Name, service.Name, m.Namespace)
	case m.Status.Ended != nil && m.Owes() == nil:
		return nil, Forget(ctx, to, m)
	}
	return m, nil
}

// IsShared reports whether a Maintenance is of more than one outage of one Service, so
// that it is not for a command about one Service to change or delete it.
func IsShared(m *criticalv2.Maintenance) bool {
	return m.Spec.Recurring != nil || len(m.Spec.Services) != 1
}

// Ending is a time as a Maintenance says it: to the second, and nil for never.
func Ending(until time.Time) *metav1.Time {
	if until.IsZero() {
		return nil
	}
	return new(metav1.NewTime(until.Truncate(time.Second).UTC()))
}
