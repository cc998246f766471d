//go:build e2e

package soak

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/soak/invariant"
)

// others are the kinds of which only metadata is read: what the responder consists of, and what owns Pods.
var others = []schema.GroupVersionKind{
	appsv1.SchemeGroupVersion.WithKind("Deployment"), appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"), policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
}

// read reads what the invariants are held against, but for what clients got.
func (w *world) read() (*invariant.Look, error) {
	var (
		services     corev1.ServiceList
		endpoints    discoveryv1.EndpointSliceList
		pods         corev1.PodList
		policies     criticalv2.CriticalServiceList
		fallbacks    criticalv2.ServiceFallbackList
		maintenances criticalv2.MaintenanceList
	)
	look := &invariant.Look{}
	for _, list := range []client.ObjectList{&services, &endpoints, &pods, &fallbacks, &maintenances} {
		if err := w.List(w.ctx, list, client.InNamespace(w.namespace)); err != nil {
			return nil, err
		}
	}
	for _, kind := range others {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := w.List(w.ctx, list, client.InNamespace(w.namespace)); err != nil {
			return nil, err
		}
		for i := range list.Items {
			list.Items[i].SetGroupVersionKind(kind)
		}
		look.Others = append(look.Others, list.Items...)
	}
	if err := w.List(w.ctx, &policies); err != nil {
		return nil, err
	}
	var err error
	if look.Operators, err = w.PodsOf(w.ctx, operator); err != nil {
		return nil, err
	}
	look.Services, look.Slices, look.Pods = services.Items, endpoints.Items, pods.Items
	look.Maintenances = maintenances.Items
	look.Policies = append(policies.Policies(), fallbacks.Policies()...)
	return look, nil
}

// policiesText is what the operator says of the policies of the world, for people.
func policiesText(look *invariant.Look, namespace string) string {
	var text strings.Builder
	for _, policy := range look.Policies {
		if criticalv2.ReachesNamespace(policy, namespace) {
			// What was read is valid.
			status, _ := yaml.Marshal(policy.Observed())
			fmt.Fprintf(&text, "status of %s %s:\n%s", policy.PolicyKind().Kind, policy.GetName(), status)
		}
	}
	return text.String()
}
