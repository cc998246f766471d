package observe

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
)

// These functions serve event handlers and scrapes, which have no error to return.
// They read the cache, which fails only while the operator stops or has not started;
// every object is observed again at the next start.

// EachMatched calls f with every Service that a CriticalService matches.
func EachMatched(ctx context.Context, reader client.Reader, policy *criticalv2.CriticalService, f func(*corev1.Service)) {
	labels := map[string]map[string]string{}
	visit := func(service *corev1.Service) {
		known, found := labels[service.Namespace]
		if !found && policy.Spec.NamespaceSelector != nil {
			known = NamespaceLabels(ctx, reader, service.Namespace)
			labels[service.Namespace] = known
		}
		if protection.Matches(policy, service, known) {
			f(service)
		}
	}
	for _, namespace := range policy.Spec.Namespaces {
		EachService(ctx, reader, namespace, visit)
	}
	if len(policy.Spec.Namespaces) == 0 {
		EachService(ctx, reader, "", visit)
	}
}

// EachMatchedIn calls f with every Service of a namespace that a CriticalService matches;
// an empty name is all.
func EachMatchedIn(ctx context.Context, reader client.Reader, namespace string, policy criticalv2.CriticalService, f func(*corev1.Service)) {
	if namespace != "" {
		if !policy.Spec.ReachesNamespace(namespace) {
			return
		}
		policy.Spec.Namespaces = []string{namespace}
	}
	EachMatched(ctx, reader, &policy, f)
}

// ServicesWithPage are the names of the Services of a namespace that have a standby slice of
// a page.
func ServicesWithPage(ctx context.Context, reader client.Reader, namespace string) sets.Set[string] {
	names := sets.New[string]()
	EachStandby(ctx, reader, namespace, OfPage, func(slice *discoveryv1.EndpointSlice) { names.Insert(ServiceOfSlice(slice)[0]) })
	return names
}

// EachUserOfTemplate calls f with every Service whose decision may rest on a PodTemplate:
// its own fallback Pod is made from it, or that of a neighbor. One that no
// CriticalService names has none.
func EachUserOfTemplate(ctx context.Context, reader client.Reader, templates protection.Templates, name types.NamespacedName, f func(*corev1.Service)) {
	policies := Policies(ctx, reader)
	if !templates.IsNamed(name, policies) {
		return
	}
	for _, policy := range policies {
		EachMatchedIn(ctx, reader, templates.Reach(name), policy, f)
	}
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

// Policies are all CriticalServices.
func Policies(ctx context.Context, reader client.Reader) []criticalv2.CriticalService {
	var policies criticalv2.CriticalServiceList
	if err := reader.List(ctx, &policies, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	return policies.Items
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
