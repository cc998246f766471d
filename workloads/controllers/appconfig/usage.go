package appconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

const (
	// perPage is how many objects one answer has, of which each may be a megabyte.
	perPage = 100
	// maxLive is how many bytes a live read takes. A page of ordinary Pods is a megabyte.
	maxLive = 16 << 20
	// longestSearch bounds how long one search keeps a worker.
	longestSearch = 10 * time.Second
)

// used are those of some names that something in a namespace names in its spec. A namespace
// that cannot be searched within bounds uses all of them.
func (o *observer) used(ctx context.Context, namespace string, names []string) (map[string]bool, error) {
	found := map[string]bool{}
	for _, name := range names {
		found[name] = false
	}
	bounded, cancel := context.WithTimeout(ctx, longestSearch)
	defer cancel()
	for _, kind := range []client.ObjectList{&corev1.PodList{}, &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &criticalv2.ServiceFallbackList{}} {
		err := o.search(bounded, namespace, kind, found)
		if isTooMuch(err) {
			ctrl.LoggerFrom(ctx).Info("no ConfigMap is deleted: the objects that may use it are too large to search", "objects", fmt.Sprintf("%T", kind), "error", err.Error())
			for _, name := range names {
				found[name] = true
			}
			return found, nil
		}
		// The core need not be installed, and may have been.
		if err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	return found, nil
}

// isTooMuch reports whether a search failed because of its bounds.
func isTooMuch(err error) bool {
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	return tooLarge || errors.Is(err, context.DeadlineExceeded)
}

// search reads all objects of a kind, page by page, and marks the names that they have.
func (o *observer) search(ctx context.Context, namespace string, kind client.ObjectList, found map[string]bool) error {
	for next := ""; ; {
		// Another list for each page: what is read into a full one is mixed with what it has.
		list := kind.DeepCopyObject().(client.ObjectList)
		if err := o.live.List(ctx, list, client.InNamespace(namespace), client.Limit(perPage), client.Continue(next)); err != nil {
			return err
		}
		err := meta.EachListItem(list, func(object runtime.Object) error {
			spec, err := json.Marshal(specOf(object))
			// One pass, however many names there are.
			for text := range bytes.SplitSeq(spec, []byte{'"'}) {
				if _, isWanted := found[string(text)]; isWanted {
					found[string(text)] = true
				}
			}
			return err
		})
		if next = list.GetContinue(); err != nil || next == "" {
			return err
		}
	}
}

// specOf is where an object may name a ConfigMap.
func specOf(object runtime.Object) any {
	switch object := object.(type) {
	case *corev1.Pod:
		return &object.Spec
	case *appsv1.Deployment:
		return &object.Spec.Template.Spec
	case *appsv1.StatefulSet:
		return &object.Spec.Template.Spec
	case *criticalv2.ServiceFallback:
		return &object.Spec
	default:
		return object
	}
}
