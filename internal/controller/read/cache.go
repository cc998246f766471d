package read

import (
	"context"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewCache makes the cache of a manager. It begins with what is stored at that time. Other
// than cache.New it lets ByObject select the objects of a kind twice: those whose metadata is
// watched, by an entry for metav1.PartialObjectMetadata, and those that are watched whole.
func NewCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	var err error
	if options.HTTPClient, err = consistent(config, options.HTTPClient); err != nil {
		return nil, err
	}
	ofMetadata := options
	whole := map[client.Object]cache.ByObject{}
	ofMetadata.ByObject = map[client.Object]cache.ByObject{}
	for object, by := range options.ByObject {
		if isMetadata(object) {
			ofMetadata.ByObject[object] = by
		} else {
			whole[object] = by
		}
	}
	options.ByObject = whole
	objects, err := cache.New(config, options)
	if err != nil {
		return nil, err
	}
	metadata, err := cache.New(config, ofMetadata)
	if err != nil {
		return nil, err
	}
	return &twoCaches{Cache: objects, metadata: metadata}, nil
}

func isMetadata(object runtime.Object) bool {
	switch object.(type) {
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return true
	default:
		return false
	}
}

// twoCaches reads metadata from one cache, and whole objects from another.
type twoCaches struct {
	cache.Cache
	metadata cache.Cache
}

func (c *twoCaches) of(object runtime.Object) cache.Cache {
	if isMetadata(object) {
		return c.metadata
	}
	return c.Cache
}

// Get implements client.Reader.
func (c *twoCaches) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	return c.of(into).Get(ctx, key, into, options...)
}

// List implements client.Reader.
func (c *twoCaches) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	return c.of(into).List(ctx, into, options...)
}

// GetInformer implements cache.Informers.
func (c *twoCaches) GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	return c.of(object).GetInformer(ctx, object, options...)
}

// RemoveInformer implements cache.Informers.
func (c *twoCaches) RemoveInformer(ctx context.Context, object client.Object) error {
	return c.of(object).RemoveInformer(ctx, object)
}

// IndexField implements client.FieldIndexer.
func (c *twoCaches) IndexField(ctx context.Context, object client.Object, field string, values client.IndexerFunc) error {
	return c.of(object).IndexField(ctx, object, field, values)
}

// Start implements cache.Informers.
func (c *twoCaches) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.metadata.Start(ctx) })
	group.Go(func() error { return c.Cache.Start(ctx) })
	return group.Wait()
}

// WaitForCacheSync implements cache.Informers.
func (c *twoCaches) WaitForCacheSync(ctx context.Context) bool {
	return c.Cache.WaitForCacheSync(ctx) && c.metadata.WaitForCacheSync(ctx)
}
