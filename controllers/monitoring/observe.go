package monitoring

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/monitoring/internal/decide"
	"github.com/critical-service/operator/controllers/monitoring/internal/render"
)

// observer reads what a decision depends on.
type observer struct {
	off        bool
	wanted     []*unstructured.Unstructured
	namespaces []string
	noTenants  bool
	cached     client.Reader
	// live reads policies, and found the objects of monitoring, from the API server.
	live, found client.Reader
	kinds       discovery.ServerResourcesInterface
}

// observe reads all. What cannot be read is left out, and so nothing is done about it.
func (o *observer) observe(ctx context.Context) (decide.Snapshot, problems) {
	snap, failed := decide.Snapshot{Off: o.off}, problems{}
	served, err := o.served(ctx)
	if err != nil {
		failed["kinds"] = fmt.Errorf("find out which kinds of %s there are: %w", render.GroupVersion, err)
		return decide.Snapshot{}, failed
	}
	snap.Available = served.Len() > 0
	if snap.InUse, err = o.inUse(ctx); err != nil {
		failed["policies"] = fmt.Errorf("find out whether there is a CriticalService or a ServiceFallback: %w", err)
		return decide.Snapshot{}, failed
	}
	for _, wanted := range o.wanted {
		kind := wanted.GroupVersionKind()
		if kind.GroupVersion() == render.GroupVersion && !served.Has(kind.Kind) {
			continue
		}
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		err := o.found.Get(ctx, client.ObjectKeyFromObject(wanted), object)
		switch {
		case apierrors.IsNotFound(err):
			object = nil
		case err != nil:
			failed[nameOf(wanted)] = fmt.Errorf("read it: %w", err)
			continue
		}
		snap.Objects = append(snap.Objects, decide.Object{Wanted: wanted, Found: object})
	}
	return snap, failed
}

// served are the kinds of the Prometheus operator that the API server has.
func (o *observer) served(ctx context.Context) (sets.Set[string], error) {
	kinds := sets.New[string]()
	list, err := discovery.ToServerResourcesInterfaceWithContext(o.kinds).ServerResourcesForGroupVersionWithContext(ctx, render.GroupVersion.String())
	if apierrors.IsNotFound(err) {
		return kinds, nil
	}
	if err != nil {
		return nil, err
	}
	for _, wanted := range o.wanted {
		for i := range list.APIResources {
			if kind := wanted.GroupVersionKind(); kind.GroupVersion() == render.GroupVersion && kind.Kind == list.APIResources[i].Kind {
				kinds.Insert(kind.Kind)
			}
		}
	}
	return kinds, nil
}

// inUse reports whether there is a policy. The cache may be behind, so that none is believed
// to be left only if the API server says so.
func (o *observer) inUse(ctx context.Context) (bool, error) {
	for _, reader := range []client.Reader{o.cached, o.live} {
		found, err := o.policies(ctx, reader)
		if err != nil || found {
			return found, err
		}
	}
	return false, nil
}

func (o *observer) policies(ctx context.Context, reader client.Reader) (bool, error) {
	var platform criticalv2.CriticalServiceList
	if err := reader.List(ctx, &platform, client.Limit(1)); err != nil || len(platform.Items) > 0 {
		return err == nil, err
	}
	if o.noTenants {
		return false, nil
	}
	namespaces := o.namespaces
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, namespace := range namespaces {
		var teams criticalv2.ServiceFallbackList
		if err := reader.List(ctx, &teams, client.InNamespace(namespace), client.Limit(1)); err != nil || len(teams.Items) > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// nameOf names an object to people.
func nameOf(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetName()
}
