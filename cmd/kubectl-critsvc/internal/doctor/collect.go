package doctor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/doctor/checkup"
	"github.com/critical-service/operator/internal/version"
)

// atOnce is how many questions are under way at the same time.
const atOnce = 8

// collector reads a World with the rights of the user.
type collector struct {
	client.Client
	config *rest.Config
	// namespace to check; empty is all.
	namespace string
}

func newCollector(to *access.Access, everywhere bool) (*collector, error) {
	config, err := to.RESTConfig()
	if err != nil {
		return nil, err
	}
	reader, err := to.Client()
	if err != nil {
		return nil, err
	}
	c := &collector{Client: reader, config: config}
	if !everywhere {
		c.namespace, err = to.Namespace()
	}
	return c, err
}

// collect reads what the checks want to know, of one Service or of all that are
// critical.
func (c *collector) collect(ctx context.Context, only *types.NamespacedName) (*checkup.World, error) {
	w := &checkup.World{Now: time.Now(), PluginVersion: version.Version}
	namespace := c.namespace
	if only != nil {
		namespace = only.Namespace
	}
	policies, unseen, err := access.Policies(ctx, c, namespace, access.Unseen{})
	if err != nil && !isAnswer(err) {
		return nil, err
	}
	w.Policies = reading(policies, cmp.Or(err, unseen.Err()))
	if w.Policies.Value = policies; w.Policies.Missing {
		w.Policies.Problem = "this cluster does not know the kind CriticalService"
	}
	services, err := c.services(ctx, only)
	if only != nil && err != nil {
		return nil, err
	}
	w.Listed = reading(true, err)
	c.installation(ctx, w)
	c.choose(ctx, w, services, only != nil)
	c.traffic(ctx, w)
	for _, namespace := range w.Namespaces {
		c.namespaced(ctx, namespace)
	}
	for _, service := range w.Services {
		c.backups(ctx, service)
		c.template(ctx, w, service)
	}
	c.ask(ctx, w)
	return w, ctx.Err()
}

// services lists the Services that may be checked.
func (c *collector) services(ctx context.Context, only *types.NamespacedName) ([]corev1.Service, error) {
	if only != nil {
		service, err := access.GetService(ctx, c, *only)
		if err != nil {
			return nil, err
		}
		return []corev1.Service{*service}, nil
	}
	var services corev1.ServiceList
	err := c.List(ctx, &services, client.InNamespace(c.namespace))
	return services.Items, err
}

// choose keeps the Services that a policy matches, or the one that was
// named, with their namespaces.
func (c *collector) choose(ctx context.Context, w *checkup.World, services []corev1.Service, named bool) {
	homes := map[string]*checkup.Namespace{}
	for _, service := range services {
		home := homes[service.Namespace]
		if home == nil {
			var namespace corev1.Namespace
			// Without the right to read it, a namespaceSelector matches nothing here.
			_ = c.Get(ctx, client.ObjectKey{Name: service.Namespace}, &namespace)
			home = &checkup.Namespace{Name: service.Namespace, Labels: namespace.Labels}
			homes[service.Namespace] = home
		}
		found := &checkup.Service{Service: service, Home: home}
		if !named && w.Governor(found) == nil {
			continue
		}
		w.Services = append(w.Services, found)
		if !slices.Contains(w.Namespaces, home) {
			w.Namespaces = append(w.Namespaces, home)
		}
	}
}

// reading turns the answer to a read into a Reading.
func reading[T any](value T, err error) checkup.Reading[T] {
	switch {
	case err == nil:
		return checkup.Reading[T]{Value: value}
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return checkup.Reading[T]{Missing: true}
	default:
		return checkup.Reading[T]{Problem: err.Error()}
	}
}

// isAnswer reports whether an error is an answer of the API server.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) || meta.IsNoMatchError(err)
}

// list reads the objects of a kind in a namespace.
func list[T any](ctx context.Context, reader client.Reader, into client.ObjectList, items func() []T, options ...client.ListOption) checkup.Reading[[]T] {
	err := reader.List(ctx, into, options...)
	read := reading(items(), err)
	read.Missing = false // A kind that does not exist has no objects.
	return read
}
