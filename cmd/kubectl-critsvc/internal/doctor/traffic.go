package doctor

import (
	"cmp"
	"context"
	"errors"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/doctor/checkup"
)

const gatewayGroup = "gateway.networking.k8s.io"

// traffic reads what else sends requests to Services.
func (c *collector) traffic(ctx context.Context, w *checkup.World) {
	var classes networkingv1.IngressClassList
	w.Classes = list(ctx, c, &classes, func() []networkingv1.IngressClass { return classes.Items })
	var problems []error
	for _, kind := range []string{"HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute"} {
		objects, err := c.gatewayObjects(ctx, w, kind)
		problems = append(problems, err)
		for i := range objects {
			w.Routes.Value = append(w.Routes.Value, routeOf(&objects[i]))
		}
	}
	gateways, err := c.gatewayObjects(ctx, w, "Gateway")
	problems = append(problems, err)
	controllers := map[string]string{}
	classObjects, err := c.gatewayObjects(ctx, w, "GatewayClass")
	problems = append(problems, err)
	for _, class := range classObjects {
		controllers[class.GetName()], _, _ = unstructured.NestedString(class.Object, "spec", "controllerName")
	}
	for _, gateway := range gateways {
		class, _, _ := unstructured.NestedString(gateway.Object, "spec", "gatewayClassName")
		w.Gateways.Value = append(w.Gateways.Value, checkup.Gateway{Namespace: gateway.GetNamespace(), Name: gateway.GetName(), Controller: controllers[class]})
	}
	if problem := errors.Join(problems...); problem != nil {
		w.Routes.Problem = problem.Error()
	}
}

// gatewayObjects lists a kind of the Gateway API, of whatever version the cluster
// prefers: everywhere, or where that is not allowed, in the namespaces that are
// checked. A cluster without that kind has none.
func (c *collector) gatewayObjects(ctx context.Context, w *checkup.World, kind string) ([]unstructured.Unstructured, error) {
	mapping, err := c.RESTMapper().RESTMapping(schema.GroupKind{Group: gatewayGroup, Kind: kind})
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found unstructured.UnstructuredList
	found.SetGroupVersionKind(mapping.GroupVersionKind.GroupVersion().WithKind(kind + "List"))
	err = c.List(ctx, &found)
	if err == nil || mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return found.Items, err
	}
	var all []unstructured.Unstructured
	for _, namespace := range w.Namespaces {
		if err := c.List(ctx, &found, client.InNamespace(namespace.Name)); err != nil {
			return all, err
		}
		all = append(all, found.Items...)
	}
	return all, nil
}

func routeOf(object *unstructured.Unstructured) checkup.Route {
	route := checkup.Route{Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
	parents, _, _ := unstructured.NestedSlice(object.Object, "spec", "parentRefs")
	for _, parent := range parents {
		if name := refOf(parent, "Gateway", route.Namespace); name != "" {
			route.Parents = append(route.Parents, name)
		}
	}
	rules, _, _ := unstructured.NestedSlice(object.Object, "spec", "rules")
	for _, rule := range rules {
		fields, _ := rule.(map[string]any)
		backends, _, _ := unstructured.NestedSlice(fields, "backendRefs")
		for _, backend := range backends {
			if name := refOf(backend, "Service", route.Namespace); name != "" {
				route.Backends = append(route.Backends, name)
			}
		}
	}
	return route
}

// refOf is "NAMESPACE/NAME" of a reference to an object of a kind; empty if it is to
// another kind.
func refOf(reference any, kind, namespace string) string {
	fields, _ := reference.(map[string]any)
	text := func(key string) string {
		value, _, _ := unstructured.NestedString(fields, key)
		return value
	}
	if cmp.Or(text("kind"), kind) != kind {
		return ""
	}
	return cmp.Or(text("namespace"), namespace) + "/" + text("name")
}
