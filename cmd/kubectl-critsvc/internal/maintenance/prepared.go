package maintenance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/protection"
)

// prepared reports whether a maintenance is announced by what stands in for the Service:
// its standby slices are those of the page, some with endpoints, and the responder knows
// of it. A Service that can have no page keeps its fallback, which has to be there.
func prepared(ctx context.Context, from client.Reader, service *corev1.Service, m *criticalv2.Announcement) (bool, error) {
	var standby discoveryv1.EndpointSliceList
	err := from.List(ctx, &standby, client.InNamespace(service.Namespace), client.MatchingLabels{
		discoveryv1.LabelServiceName: service.Name, discoveryv1.LabelManagedBy: criticalv2.ManagedBy,
	})
	if err != nil {
		return false, fmt.Errorf("list the standby slices of Service %q: %w", service.Name, err)
	}
	if !protection.CanHavePage(service) {
		return publishes(standby.Items, func(*discoveryv1.EndpointSlice) bool { return true }), nil
	}
	for i := range standby.Items {
		if slice := &standby.Items[i]; protection.StandsFor(slice) == "" && !announces(slice, m) {
			return false, nil
		}
	}
	if len(standby.Items) == 0 || !publishes(standby.Items, isPage) {
		return false, nil
	}
	return responderKnows(ctx, from, service, m)
}

// publishes reports whether, in each IP family in which a slice asks for a standby, one
// that counts lists an endpoint.
func publishes(standby []discoveryv1.EndpointSlice, counts func(*discoveryv1.EndpointSlice) bool) bool {
	answered := map[discoveryv1.AddressType]bool{}
	for i := range standby {
		slice := &standby[i]
		answered[slice.AddressType] = answered[slice.AddressType] || len(slice.Endpoints) > 0 && counts(slice)
	}
	return !slices.Contains(slices.Collect(maps.Values(answered)), false)
}

func isPage(slice *discoveryv1.EndpointSlice) bool {
	return slice.Labels[criticalv2.LabelFallbackKind] == criticalv2.FallbackKindPage
}

func announces(slice *discoveryv1.EndpointSlice, m *criticalv2.Announcement) bool {
	published := &criticalv2.Announcement{}
	return isPage(slice) &&
		json.Unmarshal([]byte(slice.Annotations[criticalv2.AnnotationMaintenance]), published) == nil && same(published, m)
}

// responderKnows reports whether the table that the responder reads has the
// maintenance. Without the permission to read it, that is assumed.
func responderKnows(ctx context.Context, from client.Reader, service *corev1.Service, m *criticalv2.Announcement) (bool, error) {
	config := &corev1.ConfigMap{}
	err := from.Get(ctx, types.NamespacedName{Namespace: service.Namespace, Name: criticalv2.ResponderName}, config)
	switch {
	case apierrors.IsForbidden(err):
		return true, nil
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read the responder's table: %w", err)
	}
	table, err := listener.Parse([]byte(config.Data[listener.Key]))
	if err != nil {
		return false, nil // The operator is about to fix it.
	}
	knows := false
	for i := range table.Listeners {
		if l := &table.Listeners[i]; l.Service == service.Name {
			if l.Maintenance == nil || !same(l.Maintenance, m) {
				return false, nil
			}
			knows = true
		}
	}
	return knows, nil
}

func same(a, b *criticalv2.Announcement) bool {
	return a.Message == b.Message && a.Until.Equal(b.Until) && ptr.Equal(a.RetryAfterSeconds, b.RetryAfterSeconds)
}
