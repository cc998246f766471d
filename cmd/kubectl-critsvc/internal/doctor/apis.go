package doctor

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/doctor/checkup"
	"github.com/critical-service/operator/internal/etcd"
)

var apiServiceKind = schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}

// apis reads which APIs of the workloads operator are turned on, and whether each is answered.
func (c *collector) apis(ctx context.Context) checkup.Reading[[]checkup.API] {
	var found []checkup.API
	for _, name := range etcd.APIServices {
		var object unstructured.Unstructured
		object.SetGroupVersionKind(apiServiceKind)
		err := c.Get(ctx, client.ObjectKey{Name: name}, &object)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return reading(found, err)
		}
		// The API server makes an APIService for every CustomResourceDefinition, and answers itself.
		if _, isServed, _ := unstructured.NestedMap(object.Object, "spec", "service"); isServed {
			found = append(found, checkup.API{Name: name, Unavailable: unavailable(&object)})
		}
	}
	return reading(found, nil)
}

// unavailable is why an APIService gets no answer, which the API server checks every few seconds.
func unavailable(object *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		of, isMap := condition.(map[string]any)
		switch {
		case !isMap || of["type"] != "Available":
		case of["status"] == "True":
			return ""
		default:
			return fmt.Sprintf("%v: %v", of["reason"], of["message"])
		}
	}
	return "the API server has not checked it"
}
