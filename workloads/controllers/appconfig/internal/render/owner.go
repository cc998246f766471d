package render

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/internal/ownership"
)

// MostOwners is how many workloads own a ConfigMap at most.
const MostOwners = 16

// Own lets a ConfigMap belong to an AppConfig and to workloads that take it, beside those that
// it belongs to already. Kubernetes deletes it once none of them is left: with the AppConfig
// alone it would be taken away from what runs.
func Own(config *corev1.ConfigMap, app *workloadsv2.AppConfig, workloads []Workload) {
	if metav1.GetControllerOf(config) == nil {
		config.OwnerReferences = append(config.OwnerReferences, Owner(app).Reference)
	}
	for i := range workloads {
		owner := workloads[i].owner()
		is := func(o metav1.OwnerReference) bool { return o.UID == owner.UID }
		if len(config.OwnerReferences) <= MostOwners && !slices.ContainsFunc(config.OwnerReferences, is) {
			config.OwnerReferences = append(config.OwnerReferences, owner)
		}
	}
}

// Owner is the AppConfig as the owner of its ConfigMaps.
func Owner(app *workloadsv2.AppConfig) *ownership.Owner {
	controller := metav1.NewControllerRef(app, workloadsv2.AppConfigKind)
	// OpenShift lets only those set it who may update the finalizers of the owner.
	controller.BlockOwnerDeletion = nil
	return &ownership.Owner{Reference: *controller, Labels: []string{workloadsv2.LabelAppConfig}}
}

// IsOurs reports whether the operator made an object of an AppConfig, and finds it by its
// label.
func IsOurs(object metav1.Object, app *workloadsv2.AppConfig) bool {
	return object.GetLabels()[workloadsv2.LabelAppConfig] == app.Name && Owner(app).IsOurs(object)
}

// IsEarlier reports whether an object belongs to an earlier AppConfig of the name.
func IsEarlier(object metav1.Object, app *workloadsv2.AppConfig) bool {
	return Owner(app).IsEarlier(object)
}
