package responder

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// confirmedAtOnce is how many Services one request names, each by up to 63 bytes.
	confirmedAtOnce = 50
	// confirmFor is how long requests are sent for one namespace, from the first answer on, until it goes on without the rest, and
	// confirmTimeout how long it waits for all answers: meanwhile no new Service of the namespace gets a listener.
	confirmFor, confirmTimeout = 2 * time.Second, 5 * time.Second
	// maxLive is how many bytes an answer of the API server may have.
	maxLive = 4 << 20
)

// confirmation finds out of which Services the caches have what the API server has. They may be behind, and a listener that is
// taken away leaves clients without an answer that are sent to it.
type confirmation struct {
	live client.Reader
	snap *decide.Snapshot
	// slices are the versions of the standby slices of each Service, and services those of the Services, as the caches have them.
	slices   map[string]sets.Set[string]
	services map[string]string
	// isBehind says that the caches are, and will soon be no more.
	isBehind bool
}

// confirm adds to a Snapshot which of some Services are Confirmed. It reports whether it is worth to ask for the others in a moment.
// What is not read, because it takes too long or fails, is not confirmed.
func (r *Reconciler) confirm(ctx context.Context, snap *decide.Snapshot, names []string) (again bool, err error) {
	if len(names) == 0 {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, confirmTimeout)
	defer cancel()
	return newConfirmation(r.live, snap, names).confirmAll(ctx, names)
}

func newConfirmation(live client.Reader, snap *decide.Snapshot, names []string) *confirmation {
	c := &confirmation{live: live, snap: snap, slices: map[string]sets.Set[string]{}, services: map[string]string{}}
	snap.Confirmed = make(sets.Set[string], len(names))
	for _, name := range names {
		c.slices[name] = sets.Set[string]{}
	}
	for _, some := range [][]discoveryv1.EndpointSlice{snap.Slices, snap.PodSlices} {
		for i := range some {
			if versions, isAsked := c.slices[some[i].Labels[discoveryv1.LabelServiceName]]; isAsked {
				versions.Insert(some[i].ResourceVersion)
			}
		}
	}
	for i := range snap.Services {
		if _, isAsked := c.slices[snap.Services[i].Name]; isAsked {
			c.services[snap.Services[i].Name] = snap.Services[i].ResourceVersion
		}
	}
	return c
}

// confirmAll confirms in several requests. Any user of the namespace can make standby slices, also large ones. The Services of an
// answer that is too large are asked for one by one, after all others and in another order each time: so that some are confirmed
// in each pass, even where large answers take most of it. One about which there is too much alone keeps its own listeners.
func (c *confirmation) confirmAll(ctx context.Context, names []string) (again bool, err error) {
	names = slices.Clone(names)
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] }) //nolint:gosec // No secret.
	requests := slices.Collect(slices.Chunk(names, confirmedAtOnce))
	var answered time.Time // When the first answer came that was not too large.
	for len(requests) > 0 {
		if !answered.IsZero() && time.Since(answered) > confirmFor {
			return true, nil
		}
		some := requests[0]
		requests = requests[1:]
		err := c.confirm(ctx, some)
		switch _, isTooLarge := errors.AsType[*http.MaxBytesError](err); {
		case isTooLarge && len(some) > 1:
			requests = slices.AppendSeq(requests, slices.Chunk(some, 1))
		case isTooLarge:
		case err != nil:
			return false, err
		case answered.IsZero():
			answered = time.Now()
		}
	}
	return c.isBehind, nil
}

// confirm reads the standby slices of some Services.
func (c *confirmation) confirm(ctx context.Context, names []string) error {
	list, err := pageSlices(ctx, c.live, c.snap.Namespace, discoveryv1.LabelServiceName, selection.In, names)
	if err != nil {
		return err
	}
	now := map[string]sets.Set[string]{}
	for i := range list.Items {
		name := list.Items[i].Labels[discoveryv1.LabelServiceName]
		if now[name] == nil {
			now[name] = sets.Set[string]{}
		}
		now[name].Insert(list.Items[i].ResourceVersion)
	}
	for _, name := range names {
		isCurrent := now[name].Equal(c.slices[name])
		if isCurrent && len(now[name]) > 0 {
			if isCurrent, err = c.hasService(ctx, name); err != nil {
				return err
			}
		}
		if isCurrent {
			c.snap.Confirmed.Insert(name)
		} else {
			c.isBehind = true
		}
	}
	return nil
}

// hasService reports whether the cache has a Service, which slices name, as it is. Without slices its ports do not matter.
func (c *confirmation) hasService(ctx context.Context, name string) (bool, error) {
	service, err := read.Existing[corev1.Service](ctx, c.live, types.NamespacedName{Namespace: c.snap.Namespace, Name: name})
	if err != nil {
		return false, err
	}
	version := ""
	if service != nil {
		version = service.ResourceVersion
	}
	return version == c.services[name], nil
}

// pageSlices are the standby slices of pages that have a label in a namespace, without their endpoints.
func pageSlices(ctx context.Context, from client.Reader, namespace, label string, operator selection.Operator, values []string, options ...client.ListOption) (*metav1.PartialObjectMetadataList, error) {
	requirement, err := labels.NewRequirement(label, operator, values)
	if err != nil {
		return nil, fault.BugFrom(err)
	}
	ofPages := labels.SelectorFromSet(labels.Set{
		discoveryv1.LabelManagedBy: criticalv2.ManagedBy, criticalv2.LabelFallbackKind: criticalv2.FallbackKindPage,
	})
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(discoveryv1.SchemeGroupVersion.WithKind("EndpointSliceList"))
	options = append(options, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: ofPages.Add(*requirement)})
	return list, from.List(ctx, list, options...)
}
