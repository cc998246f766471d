// Package render makes the objects of a WebApp as they are to be. It is pure.
package render

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/critical-service/operator/internal/controller/drift"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/internal/ownership"
)

const (
	// servicePort is where clients find every WebApp.
	servicePort = 80
	// portHTTP is the port of a Pod that takes the traffic, by name: in each Pod that of its meter, or of the
	// application where there is none. So both kinds of Pods have traffic while one replaces the other.
	portHTTP = "http"
	// portApp is that of an application behind a meter.
	portApp = "app"
)

// Service leads to the Pods of the WebApp.
func Service(a *workloadsv1.WebApp) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: meta(a, a.Name),
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, Selector: Selector(a),
			Ports: []corev1.ServicePort{{
				Name: portHTTP, Port: servicePort, TargetPort: intstr.FromString(portHTTP), Protocol: corev1.ProtocolTCP, AppProtocol: new("http"),
			}},
		},
	}
}

// Budget lets drains evict one Pod at a time. It never stops a drain.
func Budget(a *workloadsv1.WebApp) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: meta(a, a.Name),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: Selector(a)},
			UnhealthyPodEvictionPolicy: new(policyv1.AlwaysAllow),
		},
	}
}

// Database is the one of the WebApp; nil if it has none, or its engine is not known. Its data
// outlives it: the claim is retained.
func Database(a *workloadsv1.WebApp) *workloadsv1.Database {
	if a.Spec.DBImage == "" || a.Engine() == "" {
		return nil
	}
	made := &workloadsv1.Database{
		TypeMeta:   metav1.TypeMeta{APIVersion: workloadsv1.GroupVersion.String(), Kind: workloadsv1.DatabaseKind.Kind},
		ObjectMeta: meta(a, a.DatabaseName()),
		Spec: workloadsv1.DatabaseSpec{
			Type: a.Engine(), Image: a.Spec.DBImage,
			// The application is the client, and is in the cluster.
			Service: workloadsv1.DatabaseService{Type: workloadsv1.DatabaseServiceClusterIP},
		},
	}
	if a.Spec.DBSize != "" {
		made.Spec.Storage = &workloadsv1.DatabaseStorage{Size: a.Spec.DBSize, DeletionPolicy: workloadsv1.DeletionRetain}
	}
	return made
}

// Deployment runs the Pods. Config is the ConfigMap with the settings; empty is none.
func Deployment(a *workloadsv1.WebApp, config, meterImage string, replicas int32) *appsv1.Deployment {
	made := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: meta(a, a.Name),
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: Selector(a)},
			Template: template(a, config, meterImage),
			// No Pod goes before another is ready: a bad image takes nothing away.
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: new(intstr.FromString("25%")),
			}},
			RevisionHistoryLimit:    new(int32(3)),
			ProgressDeadlineSeconds: new(int32(600)),
		},
	}
	// Of the number of Pods, which the traffic changes, nothing has to go.
	made.Annotations = map[string]string{workloadsv1.AnnotationApplied: drift.Hash(made.Spec.Template)}
	return made
}

// Selector is the label by which the Pods of the WebApp are known.
func Selector(a *workloadsv1.WebApp) map[string]string {
	return map[string]string{workloadsv1.LabelWebApp: a.Name}
}

// SelectorText is the Selector for the scale subresource.
func SelectorText(a *workloadsv1.WebApp) string {
	return fmt.Sprintf("%s=%s", workloadsv1.LabelWebApp, a.Name)
}

// Labels are on every object of the WebApp.
func Labels(a *workloadsv1.WebApp) map[string]string {
	return map[string]string{workloadsv1.LabelWebApp: a.Name, workloadsv1.LabelManagedBy: workloadsv1.ManagedBy}
}

// Owner is the WebApp as the owner of its objects.
func Owner(a *workloadsv1.WebApp) *ownership.Owner {
	return &ownership.Owner{Reference: controller(a), Labels: []string{workloadsv1.LabelWebApp}}
}

func meta(a *workloadsv1.WebApp, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: a.Namespace, Name: name, Labels: Labels(a), OwnerReferences: []metav1.OwnerReference{controller(a)}}
}

// controller does not block the deletion of the WebApp: that would take one more permission where
// a cluster checks who sets owners.
func controller(a *workloadsv1.WebApp) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: workloadsv1.GroupVersion.String(), Kind: workloadsv1.WebAppKind.Kind, Name: a.Name, UID: a.UID, Controller: new(true),
	}
}
