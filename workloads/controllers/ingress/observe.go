package ingress

import (
	"context"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/workloads/controllers/ingress/internal/decide"
)

const (
	// indexServices finds the Ingresses of a Service, and indexPromoted its promoted slices.
	indexServices, indexPromoted = "services", "promoted"
)

// observer makes Snapshots. It is the only place that reads, and it reads the cache only.
type observer struct {
	cached  client.Reader
	options Options
}

// observe makes a Snapshot. The Ingress is nil where it is gone, or about to go.
func (o *observer) observe(ctx context.Context, key types.NamespacedName) (*networkingv1.Ingress, decide.Snapshot, error) {
	ingress, err := read.Existing[networkingv1.Ingress](ctx, o.cached, key)
	if err != nil || ingress == nil || ingress.DeletionTimestamp != nil {
		return nil, decide.Snapshot{}, err
	}
	snap := decide.Snapshot{
		Annotations: ingress.Annotations, Owned: split(ingress.Annotations[noteOwned]),
		Selected: o.options.selects(ingress), Kept: o.options.Annotations,
	}
	if o.options.Status && snap.Selected {
		snap.OnFallback, err = o.onFallback(ctx, ingress)
	}
	return ingress, snap, err
}

// onFallback are the Services of an Ingress of which the core has promoted a standby.
func (o *observer) onFallback(ctx context.Context, ingress *networkingv1.Ingress) ([]string, error) {
	var names []string
	for _, service := range split(ingress.Annotations[noteServices]) {
		var promoted discoveryv1.EndpointSliceList
		err := o.cached.List(ctx, &promoted, client.InNamespace(ingress.Namespace), client.MatchingFields{indexPromoted: service},
			client.Limit(1), client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, err
		}
		if len(promoted.Items) > 0 {
			names = append(names, service)
		}
	}
	return names, nil
}

// selects reports whether the settings are for Ingresses of a class.
func (o *Options) selects(ingress *networkingv1.Ingress) bool {
	class := ingress.Annotations[annotationClass]
	if ingress.Spec.IngressClassName != nil {
		class = *ingress.Spec.IngressClassName
	}
	return len(o.Classes) == 0 || slices.Contains(o.Classes, class)
}

// split takes a list apart that the cache keeps as one text.
func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
