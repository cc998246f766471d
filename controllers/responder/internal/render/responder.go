package render

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/controller/drift"
)

const (
	// AnnotationApplied holds, on each object, a hash of what was applied. It shows
	// without a write whether the object has to change, even if only a field has to go.
	AnnotationApplied = criticalv2.ReservedPrefix + "applied-hash"
	// AnnotationTable holds, on the ConfigMap, a hash of the table as the operator
	// wrote it. A table that does not match it was edited.
	AnnotationTable = criticalv2.ReservedPrefix + "table-hash"
	// AnnotationVersion holds, on the Deployment, the version of the operator that its
	// Pods follow (Responder.Version).
	AnnotationVersion = criticalv2.ReservedPrefix + "pods-version"
	// AnnotationVersionSince holds, on the Deployment, since when they do (RFC 3339).
	AnnotationVersionSince = criticalv2.ReservedPrefix + "pods-version-since"
	// AnnotationNudged holds, on the Deployment, when its ReplicaSet was last made to
	// try again (RFC 3339).
	AnnotationNudged = criticalv2.ReservedPrefix + "nudged-at"
)

const (
	labelName      = "app.kubernetes.io/name"
	labelManagedBy = "app.kubernetes.io/managed-by"
	managedBy      = "critical-service-operator"
)

// Responder is all that the objects of one namespace's responder depend on.
type Responder struct {
	Namespace string
	// Owners are the CriticalServices for which the responder is there: with the
	// last of them the garbage collector removes it, even if the operator is down.
	Owners []metav1.OwnerReference
	// Image of the operator, which is also the responder's.
	Image string
	// ImagePullSecrets are names of Secrets of the namespace.
	ImagePullSecrets []string
	// PriorityClass may be empty.
	PriorityClass string
	// Replicas is how many Pods there are, and where there are more with more load, at least.
	Replicas int32
	// MaxReplicas is how many there are at most.
	MaxReplicas int32
	// Ports are those on which every Pod listens.
	Ports listener.Range
	// Contents are the names of the ConfigMaps with content of the teams, sorted.
	Contents []string
	// VersionSince is since when the Pods follow this version of the operator (RFC 3339).
	VersionSince string
}

// Version identifies all that the operator, and not the namespace, decides of the Pods.
func (r *Responder) Version() string {
	neutral := Responder{Image: r.Image, ImagePullSecrets: r.ImagePullSecrets, PriorityClass: r.PriorityClass}
	return drift.Hash(neutral.template())
}

// ConfigMap holds a table of listeners, as the responder reads it.
func (r *Responder) ConfigMap(table *listener.Table) *corev1.ConfigMap {
	// A table is made of texts and numbers, which always marshal.
	data, _ := table.Encode()
	made := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: r.meta(criticalv2.ResponderListeners),
		Data:       map[string]string{listener.Key: string(data)},
	}
	made.Annotations = map[string]string{AnnotationTable: drift.Hash(string(data))}
	seal(&made.ObjectMeta, made)
	return made
}

// Budget lets evictions take one Pod at a time, and the next only once its successor
// is ready, and so published. It never forbids an eviction altogether: a namespace
// with a single responder Pod must not hold up the drain of a node forever, and a Pod
// that is not ready, or not published yet, protects nothing.
func (r *Responder) Budget() *policyv1.PodDisruptionBudget {
	made := &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: r.meta(criticalv2.ResponderServer),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable:             new(intstr.FromInt32(1)),
			Selector:                   &metav1.LabelSelector{MatchLabels: selector()},
			UnhealthyPodEvictionPolicy: new(policyv1.AlwaysAllow),
		},
	}
	seal(&made.ObjectMeta, made)
	return made
}

func (r *Responder) meta(role string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            criticalv2.ResponderName,
		Namespace:       r.Namespace,
		OwnerReferences: r.Owners,
		Labels: map[string]string{
			labelName: criticalv2.ResponderName, labelManagedBy: managedBy, criticalv2.LabelResponder: role,
		},
	}
}

// selector selects the responder's Pods. A Deployment can never change it.
func selector() map[string]string {
	return map[string]string{labelName: criticalv2.ResponderName, criticalv2.LabelResponder: criticalv2.ResponderServer}
}

// podLabels carry none of an application, so that no Service and no policy of
// the namespace takes the responder for one. The label that says what a Pod is a
// fallback for is empty: this one is for many, and must be in the operator's
// cache, which holds Pods with that label only.
func podLabels() map[string]string {
	labels := selector()
	labels[criticalv2.LabelFallbackFor] = ""
	return labels
}

// seal writes on an object the hash of what it is without the seal.
func seal(meta *metav1.ObjectMeta, object any) {
	sealed := maps.Clone(meta.Annotations)
	if sealed == nil {
		sealed = map[string]string{}
	}
	sealed[AnnotationApplied] = drift.Hash(object)
	meta.Annotations = sealed
}

// IsOurs reports whether an object of the responder's name is the operator's: it
// carries the label of its role or, where that was removed, the seal.
func IsOurs(object metav1.Object, role string) bool {
	_, sealed := object.GetAnnotations()[AnnotationApplied]
	return sealed || object.GetLabels()[criticalv2.LabelResponder] == role
}

// ImageOf is the image of a responder's Deployment; empty if it has none.
func ImageOf(pod *corev1.PodSpec) string {
	for i := range pod.Containers {
		if pod.Containers[i].Name == containerName {
			return pod.Containers[i].Image
		}
	}
	return ""
}

// volumeName is the name of the volume of a team's ConfigMap, whose own name may
// be longer than a volume's, and have dots.
func volumeName(configMap string) string { return fmt.Sprintf("content-%s", drift.Hash(configMap)) }
