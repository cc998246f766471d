// Package storageversion rewrites the objects of a kind that are stored in an earlier
// version, so that reading them needs no conversion any more, and so that the
// earlier version can one day be dropped.
//
// Which versions may be in storage is written in status.storedVersions of the
// CustomResourceDefinition. It is also all that is remembered: a migration that
// was cut short begins again, and the API server writes nothing for an object
// that is already stored as it should be.
package storageversion

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/operator/crdcache"
)

const (
	// pageSize is how many objects are listed, and so converted, at once.
	pageSize  = 100
	lastRetry = 5 * time.Second
)

// migrator rewrites what is stored in an earlier version, whenever something is.
type migrator struct {
	kind   crdcache.Kind
	client client.Client
	live   client.Reader
	// announce reports that objects are about to be rewritten.
	announce func(context.Context) error
}

// Setup lets the leader migrate, and announce it beforehand. What fails, because
// the webhook does not answer yet for instance, is tried again.
func Setup(mgr ctrl.Manager, cluster cluster.Cluster, kind crdcache.Kind, announce func(context.Context) error) error {
	m := &migrator{kind: kind, client: cluster.GetClient(), live: cluster.GetAPIReader(), announce: announce}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("storage-version").
		WatchesRawSource(source.Kind(cluster.GetCache(), &apiextensionsv1.CustomResourceDefinition{},
			&handler.TypedEnqueueRequestForObject[*apiextensionsv1.CustomResourceDefinition]{})).
		WithOptions(controller.Options{
			RateLimiter: queue.Backoff[reconcile.Request](lastRetry),
		}).
		Complete(reconcile.Func(m.reconcile))
	if err != nil {
		return fmt.Errorf("set up the migration of stored %ss: %w", kind.Kind, err)
	}
	return nil
}

func (m *migrator) reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := m.live.Get(ctx, request.NamespacedName, &crd); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if current(&crd, m.kind) {
		return reconcile.Result{}, nil
	}
	logger := log.FromContext(ctx)
	if !converts(&crd, m.kind) {
		// A fix of the CustomResourceDefinition wakes us.
		logger.Info("skipping the migration of stored objects: their CustomResourceDefinition must store the current version, "+
			"and convert by a webhook whose authority it knows (caBundle)", "kind", m.kind.Kind, "version", m.kind.Version)
		return reconcile.Result{}, nil
	}
	logger.Info("rewriting objects that may be stored in an earlier version", "kind", m.kind.Kind, "storedVersions", crd.Status.StoredVersions)
	if err := m.announce(ctx); err != nil {
		logger.Info("migrating although OLM could not be informed", "error", err.Error())
	}
	count, err := m.rewriteAll(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	// If another version has come into use meanwhile, this is a conflict, and all
	// begins again.
	change := client.MergeFromWithOptions(crd.DeepCopy(), client.MergeFromWithOptimisticLock{})
	crd.Status.StoredVersions = []string{m.kind.Version}
	if err := m.client.Status().Patch(ctx, &crd, change); err != nil {
		return reconcile.Result{}, fmt.Errorf("set status.storedVersions of CustomResourceDefinition %s to %s: %w",
			m.kind.Definition(), m.kind.Version, err)
	}
	logger.Info("all objects are stored in the current version", "kind", m.kind.Kind, "rewritten", count, "storedVersions", crd.Status.StoredVersions)
	return reconcile.Result{}, nil
}

// Runs reports whether the leader rewrites objects, or tries to, for as long as the
// definition is like this.
func Runs(crd *apiextensionsv1.CustomResourceDefinition, kind crdcache.Kind) bool {
	return !current(crd, kind) && converts(crd, kind)
}

// current reports whether nothing is stored in an earlier version.
func current(crd *apiextensionsv1.CustomResourceDefinition, kind crdcache.Kind) bool {
	return slices.Equal(crd.Status.StoredVersions, []string{kind.Version})
}

// converts reports whether objects are stored in the current version, and the API server can reach
// the webhook that converts them. One that is not converted would be read without
// its spec.
//
// At an upgrade OLM replaces the definition, its caBundle included, and puts one
// back when it installs the new version. In between nothing can be rewritten, and
// to report a running migration would keep OLM from ever installing it.
func converts(crd *apiextensionsv1.CustomResourceDefinition, kind crdcache.Kind) bool {
	conversion := crd.Spec.Conversion
	return conversion != nil && conversion.Strategy == apiextensionsv1.WebhookConverter &&
		conversion.Webhook != nil && conversion.Webhook.ClientConfig != nil && len(conversion.Webhook.ClientConfig.CABundle) > 0 &&
		slices.ContainsFunc(crd.Spec.Versions, func(version apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return version.Storage && version.Name == kind.Version
		})
}

// rewriteAll rewrites every object, page by page. It succeeds only if all are.
func (m *migrator) rewriteAll(ctx context.Context) (int, error) {
	count := 0
	for token := ""; ; {
		var page metav1.PartialObjectMetadataList
		page.SetGroupVersionKind(m.kind.GroupVersion().WithKind(m.kind.Kind + "List"))
		if err := m.live.List(ctx, &page, client.Limit(pageSize), client.Continue(token)); err != nil {
			return 0, fmt.Errorf("list the stored %ss, which the conversion webhook must answer for: %w", m.kind.Kind, err)
		}
		for i := range page.Items {
			if err := m.rewrite(ctx, client.ObjectKeyFromObject(&page.Items[i])); err != nil {
				return 0, err
			}
		}
		count += len(page.Items)
		if token = page.Continue; token == "" {
			return count, nil
		}
		log.FromContext(ctx).Info("rewriting objects", "kind", m.kind.Kind, "done", count, "left", page.RemainingItemCount)
	}
}

// rewrite has the API server store an object again, without a change.
func (m *migrator) rewrite(ctx context.Context, key types.NamespacedName) error {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(m.kind.GroupVersionKind)
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	err := m.client.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte("{}")))
	// An object that is gone needs nothing, and one that another client wrote in
	// the same moment is rewritten by that.
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("rewrite %s %q: %w", m.kind.Kind, strings.TrimPrefix(key.String(), "/"), err)
	}
	return nil
}
