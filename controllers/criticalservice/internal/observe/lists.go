package observe

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
)

// These functions serve event handlers and scrapes, which have no error to return.
// They read the cache, which fails only while the operator stops or has not started;
// every object is observed again at the next start.

// EachSelected calls f with every Service that a policy selects, also if the policy ends.
func EachSelected(ctx context.Context, reader client.Reader, policy criticalv2.Policy, f func(*corev1.Service)) {
	namespaces := policy.InNamespaces()
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	if fallback, ofTenant := policy.(*criticalv2.ServiceFallback); ofTenant && fallback.Spec.ServiceSelector == nil {
		eachNamed(ctx, reader, fallback, f)
		return
	}
	for _, namespace := range namespaces {
		EachSelectedIn(ctx, reader, namespace, []criticalv2.Policy{policy}, f)
	}
}

// EachSelectedIn calls f with every Service of a namespace that one of some policies selects;
// an empty name is all. The Services are walked over once, and a selector is parsed once: a team
// may have many of both.
func EachSelectedIn(ctx context.Context, reader client.Reader, namespace string, policies []criticalv2.Policy, f func(*corev1.Service)) {
	selects := make([]func(metav1.Object, map[string]string) bool, 0, len(policies))
	for _, policy := range policies {
		selects = append(selects, policy.Selector())
	}
	labels := map[string]map[string]string{}
	EachService(ctx, reader, namespace, func(service *corev1.Service) {
		known, found := labels[service.Namespace]
		if !found {
			known = NamespaceLabels(ctx, reader, service.Namespace)
			labels[service.Namespace] = known
		}
		for _, selected := range selects {
			if selected(service, known) {
				f(service)
				return
			}
		}
	})
}

// eachNamed calls f with the Services that a ServiceFallback names, without a walk over all.
func eachNamed(ctx context.Context, reader client.Reader, fallback *criticalv2.ServiceFallback, f func(*corev1.Service)) {
	for _, name := range fallback.Spec.Services {
		service := &corev1.Service{}
		if reader.Get(ctx, client.ObjectKey{Namespace: fallback.Namespace, Name: name}, service) == nil {
			f(service)
		}
	}
}

// ServicesWithPage are the names of the Services of a namespace that have a standby slice of
// a page.
func ServicesWithPage(ctx context.Context, reader client.Reader, namespace string) sets.Set[string] {
	names := sets.New[string]()
	EachStandby(ctx, reader, namespace, OfPage, func(slice *discoveryv1.EndpointSlice) { names.Insert(ServiceOfSlice(slice)[0]) })
	return names
}

// EachUserOfTemplate calls f with every Service whose decision may rest on a PodTemplate:
// its own fallback Pod is made from it, or that of a neighbor. One that no policy names
// has none.
func EachUserOfTemplate(ctx context.Context, reader client.Reader, templates protection.Templates, name types.NamespacedName, f func(*corev1.Service)) {
	policies := Policies(ctx, reader, name.Namespace)
	if !templates.IsNamed(name, policies) {
		return
	}
	EachSelectedIn(ctx, reader, templates.Reach(name), policies, f)
}

// NamespaceLabels are the labels of a namespace; nil if it is gone.
func NamespaceLabels(ctx context.Context, reader client.Reader, name string) map[string]string {
	namespace := &corev1.Namespace{}
	if err := reader.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return nil
	}
	return namespace.Labels
}

// EachService calls f with every Service of a namespace; an empty name is all.
func EachService(ctx context.Context, reader client.Reader, namespace string, f func(*corev1.Service)) {
	var services corev1.ServiceList
	if err := reader.List(ctx, &services, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	for i := range services.Items {
		f(&services.Items[i])
	}
}

// EachStandby calls f with every standby slice of a namespace that is chosen and
// names its Service.
func EachStandby(ctx context.Context, reader client.Reader, namespace string, chosen client.ListOption, f func(*discoveryv1.EndpointSlice)) {
	var list discoveryv1.EndpointSliceList
	if err := reader.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy, chosen); err != nil {
		return
	}
	for i := range list.Items {
		if len(ServiceOfSlice(&list.Items[i])) > 0 {
			f(&list.Items[i])
		}
	}
}

// EachWithFallbackOf calls f with every Service that has a standby slice, or a fallback Pod, of a policy.
func EachWithFallbackOf(ctx context.Context, reader client.Reader, policy criticalv2.Policy, f func(service types.NamespacedName)) {
	visit := func(object client.Object, service string) {
		if protection.BelongsTo(object, policy) {
			f(types.NamespacedName{Namespace: object.GetNamespace(), Name: service})
		}
	}
	EachStandby(ctx, reader, policy.GetNamespace(), client.MatchingLabels{discoveryv1.LabelManagedBy: criticalv2.ManagedBy}, func(slice *discoveryv1.EndpointSlice) {
		visit(slice, ServiceOfSlice(slice)[0])
	})
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, client.InNamespace(policy.GetNamespace()), client.UnsafeDisableDeepCopy, client.HasLabels{criticalv2.LabelFallbackFor}); err != nil {
		return
	}
	for i := range pods.Items {
		if service := pods.Items[i].Labels[criticalv2.LabelFallbackFor]; service != "" {
			visit(&pods.Items[i], service)
		}
	}
}
