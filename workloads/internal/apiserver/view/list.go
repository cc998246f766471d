package view

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/workloads/internal/apiserver/places"
	"github.com/critical-service/operator/workloads/internal/apiserver/wire"
)

// maxItems is how many objects a list has at most; its continue token leads to the others.
const maxItems = 100

// How many lists and watches of all views are under way at once: a list is held in memory until its
// client has it, and a watch holds a connection.
var (
	Lists   = places.Limits{What: "lists", PerInstance: 2, PerNamespace: 2, PerServer: 4, RetryAfter: 1}
	Watches = places.Limits{What: "watches", PerInstance: 16, PerNamespace: 16, PerServer: 64, RetryAfter: places.RetryAfter}
)

// take takes a place until the request is over.
func (s *Storage) take(ctx context.Context, free *places.Places) error {
	leave, err := free.Take(types.NamespacedName{Namespace: request.NamespaceValue(ctx), Name: s.Of.Resource})
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, leave)
	return nil
}

// List reads a page of objects.
func (s *Storage) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	if err := s.allow(ctx, ""); err != nil {
		return nil, err
	}
	if err := s.take(ctx, s.Lists); err != nil {
		return nil, err
	}
	list, err := s.page(ctx, pageOptions(ctx, options))
	if err != nil {
		return nil, err
	}
	list.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return list, meta.EachListItem(list, func(item runtime.Object) error { seen(item); return nil })
}

// page reads a page that has fewer objects, if they are large. One object is always read.
func (s *Storage) page(ctx context.Context, options *client.ListOptions) (client.ObjectList, error) {
	for ; ; options.Limit = max(options.Limit/4, 1) {
		list := s.Options.List()
		if err := s.Client.List(ctx, list, options); !errors.Is(err, errTooLarge) || options.Limit == 1 {
			return list, err
		}
	}
}

// pageOptions are those of a page. Of resource version 0, the API server would send all objects; without
// a version it sends objects that are as new at least.
func pageOptions(ctx context.Context, options *internalversion.ListOptions) *client.ListOptions {
	page := listOptions(ctx, options)
	if page.Limit <= 0 || page.Limit > maxItems {
		page.Limit = maxItems
	}
	if page.Raw.ResourceVersion == "0" {
		page.Raw.ResourceVersion, page.Raw.ResourceVersionMatch = "", ""
	}
	page.Raw.TimeoutSeconds = nil
	return page
}

// Watch follows objects.
func (s *Storage) Watch(ctx context.Context, options *internalversion.ListOptions) (watch.Interface, error) {
	if err := s.allow(ctx, ""); err != nil {
		return nil, err
	}
	if err := s.take(ctx, s.Watches); err != nil {
		return nil, err
	}
	asked := listOptions(ctx, options)
	if longest := int64(wire.Longest.Seconds()); asked.Raw.TimeoutSeconds == nil || *asked.Raw.TimeoutSeconds > longest {
		asked.Raw.TimeoutSeconds = &longest
	}
	events, err := s.Client.Watch(ctx, s.Options.List(), asked)
	if err != nil {
		return nil, err
	}
	return watch.Filter(events, func(event watch.Event) (watch.Event, bool) {
		if event.Type != watch.Error {
			seen(event.Object)
		}
		return event, true
	}), nil
}

func listOptions(ctx context.Context, options *internalversion.ListOptions) *client.ListOptions {
	if options == nil {
		options = &internalversion.ListOptions{}
	}
	return &client.ListOptions{
		Namespace: request.NamespaceValue(ctx), LabelSelector: options.LabelSelector, FieldSelector: options.FieldSelector,
		Limit: options.Limit, Continue: options.Continue,
		Raw: &metav1.ListOptions{
			ResourceVersion: options.ResourceVersion, ResourceVersionMatch: options.ResourceVersionMatch, TimeoutSeconds: options.TimeoutSeconds,
			AllowWatchBookmarks: options.AllowWatchBookmarks, SendInitialEvents: options.SendInitialEvents,
		},
	}
}
