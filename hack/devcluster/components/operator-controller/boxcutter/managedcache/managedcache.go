// Package managedcache watches the objects that others have installed.
//
// Unlike the rest of this module it is used with the feature gate BoxcutterRuntime
// off too: operator-controller learns from it of changes to the objects of a ClusterExtension.
package managedcache

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// TrackingCache watches the kinds that its users ask for, as long as one of them does.
type TrackingCache interface {
	client.Reader
	manager.Runnable
	// Source is where a controller gets the events of all watched kinds from.
	Source(handler.EventHandler, ...predicate.Predicate) source.Source
	// Watch replaces the kinds that a user asks for, and returns when they are listed.
	Watch(ctx context.Context, user client.Object, kinds sets.Set[schema.GroupVersionKind]) error
	// Free withdraws all that a user has asked for.
	Free(ctx context.Context, user client.Object) error
}

// NewTrackingCache returns one that watches nothing yet.
func NewTrackingCache(log logr.Logger, config *rest.Config, options cache.Options) (TrackingCache, error) {
	informers, err := cache.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("create the cache of installed objects: %w", err)
	}
	return &trackingCache{
		Cache: informers, log: log,
		users:   map[apitypes.UID]sets.Set[schema.GroupVersionKind]{},
		watched: sets.New[schema.GroupVersionKind](),
	}, nil
}

type trackingCache struct {
	cache.Cache
	log logr.Logger

	mu      sync.Mutex
	users   map[apitypes.UID]sets.Set[schema.GroupVersionKind]
	watched sets.Set[schema.GroupVersionKind]
	sinks   []toolscache.ResourceEventHandler
}

func (c *trackingCache) Source(h handler.EventHandler, predicates ...predicate.Predicate) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		sink := newSink(ctx, h, queue, predicates)
		c.sinks = append(c.sinks, sink)
		for kind := range c.watched {
			if err := c.attach(ctx, kind, sink); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *trackingCache) Watch(ctx context.Context, user client.Object, kinds sets.Set[schema.GroupVersionKind]) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users[user.GetUID()] = kinds.Clone()
	for kind := range kinds.Difference(c.watched) {
		if err := c.attach(ctx, kind, c.sinks...); err != nil {
			return err
		}
		c.watched.Insert(kind)
		c.log.V(1).Info("watching", "kind", kind)
	}
	return c.release(ctx)
}

func (c *trackingCache) Free(ctx context.Context, user client.Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.users, user.GetUID())
	return c.release(ctx)
}

// attach hands the events of a kind to sinks.
func (c *trackingCache) attach(ctx context.Context, kind schema.GroupVersionKind, sinks ...toolscache.ResourceEventHandler) error {
	informer, err := c.GetInformer(ctx, metadataOf(kind))
	if err != nil {
		return fmt.Errorf("watch %s: %w", kind, err)
	}
	for _, sink := range sinks {
		if _, err := informer.AddEventHandler(sink); err != nil {
			return fmt.Errorf("watch %s: %w", kind, err)
		}
	}
	return nil
}

// release ends the watches that no user asks for any more.
func (c *trackingCache) release(ctx context.Context) error {
	asked := sets.New[schema.GroupVersionKind]()
	for _, kinds := range c.users {
		asked = asked.Union(kinds)
	}
	for kind := range c.watched.Difference(asked) {
		if err := c.RemoveInformer(ctx, metadataOf(kind)); err != nil {
			return fmt.Errorf("end the watch of %s: %w", kind, err)
		}
		c.watched.Delete(kind)
		c.log.V(1).Info("not watching any more", "kind", kind)
	}
	return nil
}

// metadataOf is all that an event's handler needs: who owns the object.
func metadataOf(kind schema.GroupVersionKind) client.Object {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	return object
}

func newSink(
	ctx context.Context, h handler.EventHandler,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request], predicates []predicate.Predicate,
) toolscache.ResourceEventHandler {
	all := predicate.And(predicates...)
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			if o, ok := object.(client.Object); ok {
				if e := (event.CreateEvent{Object: o, IsInInitialList: initial}); all.Create(e) {
					h.Create(ctx, e, queue)
				}
			}
		},
		UpdateFunc: func(before, after any) {
			o, ok := before.(client.Object)
			n, also := after.(client.Object)
			if ok && also {
				if e := (event.UpdateEvent{ObjectOld: o, ObjectNew: n}); all.Update(e) {
					h.Update(ctx, e, queue)
				}
			}
		},
		DeleteFunc: func(object any) {
			e := event.DeleteEvent{}
			if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				e.DeleteStateUnknown, object = true, unknown.Obj
			}
			if o, ok := object.(client.Object); ok {
				if e.Object = o; all.Delete(e) {
					h.Delete(ctx, e, queue)
				}
			}
		},
	}
}
