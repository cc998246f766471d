package render

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// MostOwners is how many workloads own a ConfigMap at most.
const MostOwners = 16

// Own lets a ConfigMap belong to an AppConfig and to workloads that take it, beside those that
// it belongs to already. Kubernetes deletes it once none of them is left: with the AppConfig
// alone it would be taken away from what runs.
func Own(config *corev1.ConfigMap, app *workloadsv2.AppConfig, workloads []Workload) {
	if metav1.GetControllerOf(config) == nil {
		owner := metav1.NewControllerRef(app, workloadsv2.AppConfigKind)
		// OpenShift lets only those set it who may update the finalizers of the owner.
		owner.BlockOwnerDeletion = nil
		config.OwnerReferences = append(config.OwnerReferences, *owner)
	}
	for i := range workloads {
		owner := workloads[i].owner()
		is := func(o metav1.OwnerReference) bool { return o.UID == owner.UID }
		if len(config.OwnerReferences) <= MostOwners && !slices.ContainsFunc(config.OwnerReferences, is) {
			config.OwnerReferences = append(config.OwnerReferences, owner)
		}
	}
}

// IsOurs reports whether the operator made an object of an AppConfig, and finds it by its
// label: it belongs to it; or to none and says that it does, as what outlived an earlier one.
func IsOurs(object metav1.Object, app *workloadsv2.AppConfig) bool {
	labels := object.GetLabels()
	if labels[workloadsv2.LabelAppConfig] != app.Name {
		return false
	}
	if controller := metav1.GetControllerOf(object); controller != nil {
		return controller.UID == app.UID
	}
	return labels[labelManagedBy] == managedBy
}

// IsEarlier reports whether an object belongs to an earlier AppConfig of the name: the garbage
// collector is about to delete it, or to take that owner off.
func IsEarlier(object metav1.Object, app *workloadsv2.AppConfig) bool {
	controller := metav1.GetControllerOf(object)
	return controller != nil && controller.UID != app.UID && controller.Kind == workloadsv2.AppConfigKind.Kind && controller.Name == app.Name
}
