package responder

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/decide"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/read"
)

const (
	// confirmedAtOnce is how many Services are confirmed at once: all that the API server has of them is read.
	confirmedAtOnce = 50
	// maxLive is how many bytes an answer of the API server may have.
	maxLive = 4 << 20
)

// confirm reads some Services, and the standby slices of their pages, from the API server into a Snapshot. The caches may be
// behind, and a listener that is taken away leaves clients without an answer that are sent to it.
func (r *Reconciler) confirm(ctx context.Context, snap *decide.Snapshot, names []string) error {
	if len(names) == 0 {
		return nil
	}
	names = names[:min(len(names), confirmedAtOnce)]
	ofThese, err := labels.NewRequirement(discoveryv1.LabelServiceName, selection.In, names)
	if err != nil {
		return fault.BugFrom(err)
	}
	asking, ofPods, err := standbySlices(ctx, r.live, snap.Namespace, client.MatchingLabelsSelector{Selector: ofPages().Add(*ofThese)})
	if err != nil {
		return err
	}
	confirmed := sets.New(names...)
	snap.Slices, snap.PodSlices = replaced(snap.Slices, asking, confirmed), replaced(snap.PodSlices, ofPods, confirmed)
	snap.Services = slices.DeleteFunc(snap.Services, func(service corev1.Service) bool { return confirmed.Has(service.Name) })
	for _, name := range sets.List(servicesOf(asking)) {
		service, err := read.Existing[corev1.Service](ctx, r.live, types.NamespacedName{Namespace: snap.Namespace, Name: name})
		if err != nil {
			return err
		}
		if service != nil {
			snap.Services = append(snap.Services, *service)
		}
	}
	snap.Confirmed = confirmed
	return nil
}

// ofPages selects the standby slices of pages.
func ofPages() labels.Selector {
	return labels.SelectorFromSet(labels.Set{
		discoveryv1.LabelManagedBy: criticalv2.ManagedBy, criticalv2.LabelFallbackKind: criticalv2.FallbackKindPage,
	})
}

// replaced are slices in which those of some Services are others. It changes what is given, because there may be 30,000.
func replaced(all, by []discoveryv1.EndpointSlice, of sets.Set[string]) []discoveryv1.EndpointSlice {
	kept := slices.DeleteFunc(all, func(slice discoveryv1.EndpointSlice) bool { return of.Has(slice.Labels[discoveryv1.LabelServiceName]) })
	return append(slices.Clip(kept), by...)
}

// servicesOf are the names of the Services of slices.
func servicesOf(some []discoveryv1.EndpointSlice) sets.Set[string] {
	names := make(sets.Set[string], len(some))
	for i := range some {
		names.Insert(some[i].Labels[discoveryv1.LabelServiceName])
	}
	return names
}
