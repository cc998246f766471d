// Package explain is the command that explains one Service: what protects it and why,
// its state and since when, the cause of an outage, what answers now, and what would
// in the next outage.
package explain

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/endpoints"
)

// facts are what an explanation is made from.
type facts struct {
	service      *corev1.Service
	policies     []criticalv2.Policy
	unseen       access.Unseen
	slices       []discoveryv1.EndpointSlice
	fallbacks    []corev1.Pod
	maintenances []criticalv2.Maintenance
	events       []eventsv1.Event
	// namespaceLabels are nil where they may not be read.
	namespaceLabels map[string]string
	// unread says what could not be read, one sentence each.
	unread []string
	// diagnosed is the cause that was found on demand; nil if none was looked for.
	diagnosed *criticalv2.OutageCause
}

// mostEvents bounds how many events are read; ten are shown.
const mostEvents = 500

// look reads what concerns a Service; of one that has just gone down, as the operator
// reports it.
func look(ctx context.Context, reader client.Reader, key types.NamespacedName) (facts, error) {
	return endpoints.Settled(ctx, func() (facts, error) { return read(ctx, reader, key) }, func(found facts) bool {
		status := viewOf(found, time.Now()).Status
		return status != nil && status.Outdated
	})
}

// read reads what concerns a Service. What the user may not read is skipped, with a
// notice; only the Service and one kind of policies must be readable.
func read(ctx context.Context, reader client.Reader, key types.NamespacedName) (facts, error) {
	var found facts
	var err error
	if found.service, err = access.GetService(ctx, reader, key); err != nil {
		return found, err
	}
	if found.policies, found.unseen, err = access.Policies(ctx, reader, key.Namespace, access.Unseen{}); err != nil {
		return found, err
	}
	found.unread = found.unseen.Notices()
	here := client.InNamespace(key.Namespace)
	var namespace corev1.Namespace
	var slices discoveryv1.EndpointSliceList
	var pods corev1.PodList
	var announced criticalv2.MaintenanceList
	var events eventsv1.EventList
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"the labels of the namespace", func() error {
			if found.unseen.CriticalServices != nil {
				return nil // Only they select by these.
			}
			return reader.Get(ctx, types.NamespacedName{Name: key.Namespace}, &namespace)
		}},
		{"EndpointSlices", func() error {
			return reader.List(ctx, &slices, here, client.MatchingLabels{discoveryv1.LabelServiceName: key.Name})
		}},
		{"fallback Pods", func() error { return reader.List(ctx, &pods, here, client.HasLabels{criticalv2.LabelFallbackFor}) }},
		{"Maintenances", func() error { return reader.List(ctx, &announced, here) }},
		{"events", func() error {
			about := client.MatchingFields{"regarding.kind": "Service", "regarding.name": key.Name}
			return reader.List(ctx, &events, here, about, client.Limit(mostEvents))
		}},
	} {
		switch err := step.do(); {
		case access.IsUnserved(err):
			found.unread = append(found.unread, fmt.Sprintf("This cluster does not know %s: they are left out.", step.what))
		case apierrors.IsForbidden(err):
			found.unread = append(found.unread, fmt.Sprintf("You may not read %s here: they are left out.", step.what))
		case err != nil:
			return found, fmt.Errorf("read %s: %w", step.what, err)
		}
	}
	found.namespaceLabels, found.slices, found.fallbacks = namespace.Labels, slices.Items, pods.Items
	found.maintenances, found.events = announced.Items, events.Items
	return found, nil
}
