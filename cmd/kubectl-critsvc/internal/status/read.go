// Package status is the command that lists the protected Services: their state,
// since when, why, what answers, and whether the next failover will work.
package status

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
)

// facts are what the list is made from.
type facts struct {
	policies  []criticalv2.Policy
	services  []corev1.Service
	slices    []discoveryv1.EndpointSlice
	fallbacks []corev1.Pod
	refused   refusals
	// at is when they were read, and doubts are those of the looks before; nil if there
	// are none to be.
	at     time.Time
	doubts doubts
}

// refusals are the kinds that the user may not list. The list is then made
// without them.
type refusals struct {
	policies               access.Unseen
	services, slices, pods bool
}

// read reads the objects of a namespace, or of all if it is empty; not those of
// which it is known that they are refused.
func read(ctx context.Context, reader client.Reader, namespace string, refused refusals) (facts, error) {
	found := facts{refused: refused, at: time.Now()}
	var err error
	if found.policies, found.refused.policies, err = access.Policies(ctx, reader, namespace, refused.policies); err != nil {
		return found, err
	}
	var services corev1.ServiceList
	var slices discoveryv1.EndpointSliceList
	var pods corev1.PodList
	for _, kind := range []struct {
		what    string
		refused *bool
		list    client.ObjectList
		options []client.ListOption
	}{
		{"Services", &found.refused.services, &services, nil},
		{"EndpointSlices", &found.refused.slices, &slices, nil},
		{"fallback Pods", &found.refused.pods, &pods, []client.ListOption{client.HasLabels{criticalv2.LabelFallbackFor}}},
	} {
		if *kind.refused {
			continue
		}
		err := reader.List(ctx, kind.list, append(kind.options, client.InNamespace(namespace))...)
		if *kind.refused = apierrors.IsForbidden(err); err != nil && !*kind.refused {
			return found, fmt.Errorf("list %s: %w", kind.what, err)
		}
	}
	found.services, found.slices, found.fallbacks = services.Items, slices.Items, pods.Items
	return found, nil
}

// service is a Service that was read; without ports if there is none any more.
func (f *facts) service(namespace, name string) *corev1.Service {
	for i := range f.services {
		if service := &f.services[i]; service.Namespace == namespace && service.Name == name {
			return service
		}
	}
	return &corev1.Service{}
}

// notices say what the list lacks.
func (r refusals) notices() []string {
	texts := r.policies.Notices()
	if r.services {
		texts = append(texts, "You may not list Services here: ready endpoints are not counted, because it is not known which ports they must have.")
	}
	if r.slices {
		texts = append(texts, "You may not list EndpointSlices here: ready endpoints are not counted.")
	}
	if r.pods {
		texts = append(texts, "You may not list Pods here: a fallback Pod that a Service selects by its labels is counted as one of the application.")
	}
	return texts
}
