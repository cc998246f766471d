package apiserver

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/operator/crdcache"
)

// APIServiceKind is the kind by which an administrator has a group served.
var APIServiceKind = schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}

// +kubebuilder:rbac:groups=apiregistration.k8s.io,resources=apiservices,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiregistration.k8s.io,resources=apiservices,resourceNames=v1alpha1.subresources.mycrd.com;v1alpha1.etcdaas.devoxx2018;v1alpha1.etcdas.devoxx2018;v1.zalando.org,verbs=patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=appconfigs.mycrd.com,verbs=get;list;watch

// Trust keeps the caBundle of our APIServices what it has to be: the certificate that is served is
// that of the webhook, on the same Service. Who is trusted to convert is trusted here, however
// the certificate was made: this operator, OLM or cert-manager.
type Trust struct {
	options TrustOptions
	cluster cluster.Cluster
	keeper  controller.Controller
	wanted  chan struct{}
	seen    sync.Once
}

// TrustOptions say whose caBundle is kept.
type TrustOptions struct {
	// Definition is the CustomResourceDefinition whose conversion says whom to trust.
	Definition string
	// Service is where we are served. An APIService that names another one is not ours.
	Service types.NamespacedName
	// Names are the APIServices that may be ours.
	Names []string
}

// NewTrust makes a Trust, with a cache of its own: it must not wait for the manager's.
func NewTrust(config *rest.Config, options TrustOptions) (*Trust, error) {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	watched, err := cluster.New(config, func(o *cluster.Options) {
		o.Scheme, o.NewCache = scheme, read.NewCache
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
		o.Cache.ByObject = map[client.Object]cache.ByObject{
			&apiextensionsv1.CustomResourceDefinition{}: {Field: fields.OneTermEqualSelector("metadata.name", options.Definition)},
		}
		o.Client.Cache = &client.CacheOptions{Unstructured: true}
	})
	if err != nil {
		return nil, fmt.Errorf("watch APIServices: %w", err)
	}
	t := &Trust{options: options, cluster: watched, wanted: make(chan struct{})}
	t.keeper, err = controller.NewUnmanaged("apiservice-trust", controller.Options{
		Reconciler:         reconcile.Func(t.reconcile),
		RateLimiter:        queue.Backoff[reconcile.Request](queue.LastRetry),
		CacheSyncTimeout:   crdcache.NoTimeout,
		SkipNameValidation: new(true),
	})
	if err != nil {
		return nil, fmt.Errorf("make the controller of APIServices: %w", err)
	}
	own := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		if !slices.Contains(options.Names, object.GetName()) {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: object.GetName()}}}
	})
	all := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) (requests []reconcile.Request) {
		for _, name := range options.Names {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
		}
		return requests
	})
	return t, errors.Join(
		t.keeper.Watch(source.Kind(watched.GetCache(), client.Object(apiService()), own)),
		t.keeper.Watch(source.Kind(watched.GetCache(), client.Object(&apiextensionsv1.CustomResourceDefinition{}), all)),
	)
}

func apiService() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(APIServiceKind)
	return object
}

// NeedLeaderElection says that every replica does so: all want the same.
func (*Trust) NeedLeaderElection() bool { return false }

// Wanted is closed when an APIService of ours is there.
func (t *Trust) Wanted() <-chan struct{} { return t.wanted }

// Start runs until the context ends.
func (t *Trust) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return t.cluster.Start(ctx) })
	group.Go(func() error { return t.keeper.Start(ctx) })
	return group.Wait()
}

func (t *Trust) reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	found := apiService()
	if err := t.cluster.GetClient().Get(ctx, request.NamespacedName, found); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !t.isOurs(found) {
		return reconcile.Result{}, nil
	}
	t.seen.Do(func() { close(t.wanted) })
	var definition apiextensionsv1.CustomResourceDefinition
	if err := t.cluster.GetClient().Get(ctx, types.NamespacedName{Name: t.options.Definition}, &definition); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return reconcile.Result{}, t.write(ctx, found, trusted(&definition))
}

// isOurs reports whether an APIService leads to us.
func (t *Trust) isOurs(object *unstructured.Unstructured) bool {
	namespace, _, _ := unstructured.NestedString(object.Object, "spec", "service", "namespace")
	name, _, _ := unstructured.NestedString(object.Object, "spec", "service", "name")
	return types.NamespacedName{Namespace: namespace, Name: name} == t.options.Service
}

// trusted is whom the API server trusts to convert; empty while it trusts no one.
func trusted(definition *apiextensionsv1.CustomResourceDefinition) []byte {
	if definition.Spec.Conversion == nil || definition.Spec.Conversion.Webhook == nil || definition.Spec.Conversion.Webhook.ClientConfig == nil {
		return nil
	}
	return definition.Spec.Conversion.Webhook.ClientConfig.CABundle
}

// write sets the caBundle, and takes back that the certificate is not checked at all.
func (t *Trust) write(ctx context.Context, found *unstructured.Unstructured, bundle []byte) error {
	has, _, _ := unstructured.NestedString(found.Object, "spec", "caBundle")
	unchecked, _, _ := unstructured.NestedBool(found.Object, "spec", "insecureSkipTLSVerify")
	if want := base64.StdEncoding.EncodeToString(bundle); len(bundle) == 0 || has == want && !unchecked {
		return nil
	}
	wanted := found.DeepCopy()
	spec, _, _ := unstructured.NestedMap(wanted.Object, "spec")
	delete(spec, "insecureSkipTLSVerify")
	spec["caBundle"] = base64.StdEncoding.EncodeToString(bundle)
	if err := unstructured.SetNestedMap(wanted.Object, spec, "spec"); err != nil {
		return err
	}
	err := t.cluster.GetClient().Patch(ctx, wanted, client.MergeFromWithOptions(found, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsNotFound(err) {
		return nil // It has been withdrawn.
	}
	if err != nil {
		return fmt.Errorf("update the caBundle of APIService %s: %w", found.GetName(), err)
	}
	log.FromContext(ctx).Info("updated the caBundle of an APIService", "name", found.GetName())
	return nil
}
