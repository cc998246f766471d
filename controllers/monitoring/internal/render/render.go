// Package render makes the objects by which Prometheus and Grafana know the operator, from
// the manifests in config. It is pure.
package render

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/config/grafana"
	"github.com/critical-service/operator/config/prometheus"
	"github.com/critical-service/operator/internal/controller/drift"
)

const (
	// LabelManagedBy names who keeps an object.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// Manager is the operator in this label, and the manager of the fields that it applies.
	Manager = "critical-service-operator"
	// AnnotationApplied holds a hash of what was applied: another version of the operator
	// may want fields to go.
	AnnotationApplied = criticalv2.ReservedPrefix + "applied-hash"
)

// GroupVersion is that of the Prometheus operator.
var GroupVersion = schema.GroupVersion{Group: "monitoring.coreos.com", Version: "v1"}

// Kinds are those of all objects. One whose group is GroupVersion's exists only with the
// Prometheus operator.
var Kinds = []schema.GroupVersionKind{
	GroupVersion.WithKind("ServiceMonitor"), GroupVersion.WithKind("PodMonitor"), GroupVersion.WithKind("PrometheusRule"),
	{Version: "v1", Kind: "ConfigMap"},
}

// Options are all that the objects depend on.
type Options struct {
	// Namespace is the operator's.
	Namespace string
	// PlainHTTP is true where the operator serves metrics to everyone, without TLS.
	PlainHTTP bool
}

// Objects are the objects, in the order in which they are applied.
func Objects(options Options) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, manifest := range [][]byte{prometheus.ServiceMonitor, prometheus.PodMonitor, prometheus.Rules} {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(manifest, &object.Object); err != nil {
			return nil, fmt.Errorf("read a manifest of config/prometheus: %w", err)
		}
		objects = append(objects, object)
	}
	if options.PlainHTTP {
		if err := scrapePlainHTTP(objects[0]); err != nil {
			return nil, err
		}
	}
	objects = append(objects, dashboard())
	for _, object := range objects {
		complete(object, options.Namespace)
	}
	return objects, nil
}

// scrapePlainHTTP lets the endpoints of a ServiceMonitor be asked without TLS, and shows
// them no token.
func scrapePlainHTTP(monitor *unstructured.Unstructured) error {
	endpoints, _, err := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	if err != nil {
		return fmt.Errorf("read the endpoints of config/prometheus/monitor.yaml: %w", err)
	}
	for _, one := range endpoints {
		if endpoint, isMap := one.(map[string]any); isMap {
			endpoint["scheme"] = "http"
			delete(endpoint, "bearerTokenFile")
			delete(endpoint, "tlsConfig")
		}
	}
	return unstructured.SetNestedSlice(monitor.Object, endpoints, "spec", "endpoints")
}

// dashboard is the ConfigMap that config/grafana makes.
func dashboard() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": "critical-service-operator-dashboard", "labels": map[string]any{"grafana_dashboard": "1"},
		},
		"data": map[string]any{grafana.File: grafana.Dashboard},
	}}
}

func complete(object *unstructured.Unstructured, namespace string) {
	object.SetNamespace(namespace)
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["app.kubernetes.io/name"] = Manager
	labels["app.kubernetes.io/part-of"] = "critical-service"
	labels[LabelManagedBy] = Manager
	object.SetLabels(labels)
	object.SetAnnotations(map[string]string{AnnotationApplied: drift.Hash(object.Object)})
}

// ManagerOf is who keeps an object: Manager if the operator does. Another label is how an
// administrator takes an object over; one that was copied with its labels has no fields that
// the operator applied.
func ManagerOf(object *unstructured.Unstructured) string {
	if label := object.GetLabels()[LabelManagedBy]; label != Manager {
		return label
	}
	for _, fields := range object.GetManagedFields() {
		if fields.Manager == Manager && fields.Operation == "Apply" {
			return Manager
		}
	}
	return ""
}
