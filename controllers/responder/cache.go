package responder

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// CacheByObject says what this kind needs of each kind that no other kind
// watches: only what carries the responder's label, which are the operator's own
// objects, and the content that teams publish.
func CacheByObject(options Options) map[client.Object]cache.ByObject {
	namespaces := map[string]cache.Config{}
	for _, namespace := range options.Namespaces {
		namespaces[namespace] = cache.Config{}
	}
	labelled := cache.ByObject{Namespaces: namespaces, Label: labelled(), Transform: cache.TransformStripManagedFields()}
	return map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}:             labelled,
		&appsv1.Deployment{}:            labelled,
		&policyv1.PodDisruptionBudget{}: labelled,
	}
}

func labelled() labels.Selector {
	// The key is a constant and valid, so that no error can come.
	hasLabel, _ := labels.NewRequirement(criticalv2.LabelResponder, selection.Exists, nil)
	return labels.NewSelector().Add(*hasLabel)
}
