package main

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

const (
	// managedByBench marks the application's slices, and managedByKubernetes the empty ones beside them.
	managedByBench      = "scale.bench"
	managedByKubernetes = "endpointslice-controller.k8s.io"
)

// tracker follows what the slices of each Service say, in the order in which the API server stored it.
// The application's change and the operator's answer to it arrive by the same watch, so that a
// delay of this program is in both.
type tracker struct {
	mutex    sync.Mutex
	services map[types.NamespacedName]*protected
	// kubernetes counts the slices of the controller manager.
	kubernetes int
	// changed is when the operator last wrote a slice.
	changed time.Time
	// turned counts slices of the operator's whose endpoints became ready ones, or ceased to be.
	turned int
	// events counts the events of each reason.
	events map[string]int
	// lost: a watch has ended.
	lost atomic.Bool
}

// protected is one Service.
type protected struct {
	// fallback are the operator's slices that publish something.
	fallback map[string]published
	// applied is when the application's slice changed in this phase, and ready what it says.
	applied time.Time
	ready   bool
	// first and last are when the first and the latest of the operator's slices followed.
	first, last time.Time
}

type published struct {
	endpoints int
	promoted  bool
}

func newTracker() *tracker {
	return &tracker{services: map[types.NamespacedName]*protected{}, events: map[string]int{}}
}

// begin starts a phase: what was measured before it is forgotten.
func (t *tracker) begin() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.turned = 0
	clear(t.events)
	for _, s := range t.services {
		s.applied, s.first, s.last = time.Time{}, time.Time{}, time.Time{}
	}
}

// expect makes a Service known.
func (t *tracker) expect(key types.NamespacedName) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.services[key] = &protected{fallback: map[string]published{}}
}

// slice takes one change of a slice.
func (t *tracker) slice(kind watch.EventType, slice *discoveryv1.EndpointSlice, at time.Time) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	s := t.services[types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}]
	if s == nil {
		return
	}
	switch slice.Labels[discoveryv1.LabelManagedBy] {
	case managedByKubernetes:
		switch kind {
		case watch.Added:
			t.kubernetes++
		case watch.Deleted:
			t.kubernetes--
		}
	case managedByBench:
		if ready := readyIn(slice); kind != watch.Deleted && ready != s.ready {
			s.ready, s.applied = ready, at
		}
	case criticalv2.ManagedBy:
		t.changed = at
		t.follow(s, kind, slice, at)
	}
}

func (t *tracker) follow(s *protected, kind watch.EventType, slice *discoveryv1.EndpointSlice, at time.Time) {
	was, known := s.fallback[slice.Name]
	if kind == watch.Deleted || len(slice.Endpoints) == 0 {
		delete(s.fallback, slice.Name)
		if known {
			s.last = at
		}
		return
	}
	now := published{endpoints: len(slice.Endpoints), promoted: readyIn(slice)}
	s.fallback[slice.Name] = now
	if now == was {
		return
	}
	if known && now.promoted != was.promoted {
		t.turned++
	}
	if s.first.IsZero() {
		s.first = at
	}
	s.last = at
}

func readyIn(slice *discoveryv1.EndpointSlice) bool {
	return slices.ContainsFunc(slice.Endpoints, func(endpoint discoveryv1.Endpoint) bool {
		return endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready
	})
}

// event counts one event of the operator.
func (t *tracker) event(reason string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.events[reason]++
}

func (t *tracker) eventsOf(reason string) int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.events[reason]
}

// count counts the Services of which something holds.
func (t *tracker) count(is func(*protected) bool) int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	n := 0
	for _, s := range t.services {
		if is(s) {
			n++
		}
	}
	return n
}

// latencies are, for each Service whose application changed, how long it took until the first and
// the last slice of its fallback followed.
func (t *tracker) latencies() (first, last []time.Duration) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, s := range t.services {
		if !s.applied.IsZero() && !s.first.IsZero() {
			first = append(first, max(s.first.Sub(s.applied), 0))
			last = append(last, max(s.last.Sub(s.applied), 0))
		}
	}
	return first, last
}

// since are, for each Service, how long after a moment its fallback changed last.
func (t *tracker) since(start time.Time) []time.Duration {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	var all []time.Duration
	for _, s := range t.services {
		if !s.last.IsZero() {
			all = append(all, max(s.last.Sub(start), 0))
		}
	}
	return all
}

// lastChange is when a fallback changed last in this phase, and firstTurn when the first did.
func (t *tracker) lastChange() time.Time {
	return t.pick(func(s *protected) time.Time { return s.last }, time.Time.After)
}

func (t *tracker) firstTurn() time.Time {
	return t.pick(func(s *protected) time.Time { return s.first }, time.Time.Before)
}

// pick finds the time that precedes all others, by what "precedes" means.
func (t *tracker) pick(of func(*protected) time.Time, precedes func(a, b time.Time) bool) time.Time {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	var picked time.Time
	for _, s := range t.services {
		if at := of(s); !at.IsZero() && (picked.IsZero() || precedes(at, picked)) {
			picked = at
		}
	}
	return picked
}

func (t *tracker) slicesTurned() int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.turned
}

// quiet is how long the operator has written no slice.
func (t *tracker) quiet() time.Duration {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return time.Since(t.changed)
}

func (t *tracker) kubernetesSlices() int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.kubernetes
}

// armed reports whether every replica of the responder is published for a Service.
func armed(s *protected) bool {
	endpoints := 0
	for slice := range maps.Values(s.fallback) {
		endpoints += slice.endpoints
	}
	return endpoints >= replicas
}

// unarmed reports whether nothing of the operator's is published for a Service.
func unarmed(s *protected) bool { return len(s.fallback) == 0 }

// followed reports whether the fallback of a Service followed a change of its application in
// this phase: of 10,000 Services 9,000 are demoted all the time.
func followed(promoted bool) func(*protected) bool {
	return func(s *protected) bool { return !s.applied.IsZero() && is(promoted)(s) }
}

// is reports whether all that is published for a Service is promoted, or that none of it is.
func is(promoted bool) func(*protected) bool {
	return func(s *protected) bool {
		for slice := range maps.Values(s.fallback) {
			if slice.promoted != promoted {
				return false
			}
		}
		return len(s.fallback) > 0
	}
}

// watchAll feeds the tracker with all slices and events of the cluster from now on, until the context
// ends. Should a watch end before, lost is set: what follows cannot be measured.
func (t *tracker) watchAll(ctx context.Context, clients kubernetes.Interface) error {
	everySlice, err := follow(ctx, func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		return clients.DiscoveryV1().EndpointSlices("").Watch(ctx, options)
	}, func(options metav1.ListOptions) (metav1.ListInterface, error) {
		return clients.DiscoveryV1().EndpointSlices("").List(ctx, options)
	})
	if err != nil {
		return err
	}
	everyEvent, err := follow(ctx, func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		return clients.EventsV1().Events("").Watch(ctx, options)
	}, func(options metav1.ListOptions) (metav1.ListInterface, error) {
		return clients.EventsV1().Events("").List(ctx, options)
	})
	if err != nil {
		return err
	}
	go t.feed(ctx, everySlice)
	go t.feed(ctx, everyEvent)
	return nil
}

// follow begins a watch with what comes after a list, and begins it again when the API server ends it.
func follow(ctx context.Context, begin toolscache.WatchFuncWithContext, list func(metav1.ListOptions) (metav1.ListInterface, error)) (<-chan watch.Event, error) {
	now, err := list(metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, err
	}
	watcher, err := toolswatch.NewRetryWatcherWithContext(ctx, now.GetResourceVersion(), &toolscache.ListWatch{WatchFuncWithContext: begin})
	if err != nil {
		return nil, err
	}
	return watcher.ResultChan(), nil
}

func (t *tracker) feed(ctx context.Context, changes <-chan watch.Event) {
	for change := range changes {
		switch object := change.Object.(type) {
		case *discoveryv1.EndpointSlice:
			t.slice(change.Type, object, time.Now())
		case *eventsv1.Event:
			if change.Type == watch.Added {
				t.event(object.Reason)
			}
		}
	}
	if ctx.Err() == nil {
		t.lost.Store(true)
	}
}
