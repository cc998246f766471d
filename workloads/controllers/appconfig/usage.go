package appconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
	// searchesPerSecond bounds for how many AppConfigs a second namespaces are searched.
	searchesPerSecond = 2
)

// used are those of some names that something in a namespace names in its spec. A namespace
// that cannot be searched within bounds uses all of them.
func (o *observer) used(ctx context.Context, namespace string, names []string) (map[string]bool, error) {
	found := map[string]bool{}
	for _, kind := range []client.ObjectList{&corev1.PodList{}, &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &criticalv2.ServiceFallbackList{}} {
		err := o.search(ctx, namespace, kind, names, found)
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			ctrl.LoggerFrom(ctx).Info("no ConfigMap is deleted: a page of the objects that may use it is too large", "objects", fmt.Sprintf("%T", kind), "error", err.Error())
			for _, name := range names {
				found[name] = true
			}
			return found, nil
		}
		if err != nil && !meta.IsNoMatchError(err) { // The core need not be installed.
			return nil, err
		}
	}
	return found, nil
}

// search reads all objects of a kind, page by page.
func (o *observer) search(ctx context.Context, namespace string, kind client.ObjectList, names []string, found map[string]bool) error {
	for next := ""; ; {
		// Another list for each page: what is read into a full one is mixed with what it has.
		list := kind.DeepCopyObject().(client.ObjectList)
		if err := o.live.List(ctx, list, client.InNamespace(namespace), client.Limit(perPage), client.Continue(next)); err != nil {
			return err
		}
		err := meta.EachListItem(list, func(object runtime.Object) error {
			spec, err := json.Marshal(specOf(object))
			for _, name := range names {
				found[name] = found[name] || bytes.Contains(spec, []byte(`"`+name+`"`))
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
