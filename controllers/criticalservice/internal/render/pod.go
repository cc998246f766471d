// Package render makes the objects that the operator wants to exist, from the
// objects they are made of. It is pure: the same input always gives the same
// output, byte for byte, and nothing is read or written.
package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
)

// maxPodName is the length that a Pod's name may have for its hostname to be
// the same: a DNS label (RFC 1123).
const maxPodName = 63

// PodName is the name of the fallback Pod of a Service. A name that would pass
// 63 characters is cut, and a hash of the whole name keeps it unique.
func PodName(prefix, service string) string {
	name := prefix + "-" + service
	if len(name) <= maxPodName {
		return name
	}
	suffix := "-" + hash(name)
	return name[:maxPodName-len(suffix)] + suffix
}

// Pod is the fallback Pod of a Service: the template's Pod, owned by the
// CriticalService that governs the Service. With selector labels the Service
// selects it; without, it carries none of them, and a slice publishes it.
//
// The controller owner reference keeps every ReplicaSet, ReplicationController
// and DaemonSet from adopting the Pod, and lets the garbage collector remove it
// with its owner, whether the operator runs or not. blockOwnerDeletion stays
// unset, because setting it needs a permission on finalizers that the operator
// does not ask for (admission plugin OwnerReferencesPermissionEnforcement).
func Pod(name string, service *corev1.Service, template *corev1.PodTemplate, governor criticalv2.Policy, publish criticalv2.Publish, others ...criticalv2.Policy) *corev1.Pod {
	made := template.Template.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Namespace:   service.Namespace,
			Labels:      unreserved(made.Labels),
			Annotations: unreserved(made.Annotations),
		},
		Spec: made.Spec,
	}
	// A fallback answers clients; it has no business with the API server.
	if pod.Spec.AutomountServiceAccountToken == nil {
		pod.Spec.AutomountServiceAccountToken = new(false)
	}
	bind(pod, service, governor, publish, others)
	pod.Annotations[criticalv2.AnnotationTemplate] = TemplateHash(template)
	return pod
}

// unreserved are the labels or annotations of a template but for those that only the
// operator sets: by them a fallback would count as what it is not, a responder say.
func unreserved(keys map[string]string) map[string]string {
	maps.DeleteFunc(keys, func(key, _ string) bool { return strings.HasPrefix(key, criticalv2.ReservedPrefix) })
	return keys
}

// Rebound is the Pod as it must be for the Service and the governor as they are
// now: after a change of the Service's selector, of the governor, or after
// a user edited the Pod's labels. Labels that an earlier selector put on the
// Pod are taken off; all others stay. What runs in the Pod is not touched, so
// that a fallback that answers goes on answering.
func Rebound(pod *corev1.Pod, service *corev1.Service, governor criticalv2.Policy, publish criticalv2.Publish, others ...criticalv2.Policy) *corev1.Pod {
	pod = pod.DeepCopy()
	for key := range selectorOf(pod) {
		delete(pod.Labels, key)
	}
	bind(pod, service, governor, publish, others)
	return pod
}

// Released is the Pod as it must be to leave its Service and go on answering:
// without the labels of the selector. Proxies learn of a recovery one by one
// (kube-proxy syncs once a second), and a Pod that stopped at once would let
// those down that have not.
func Released(pod *corev1.Pod, service *corev1.Service, at time.Time) *corev1.Pod {
	pod = pod.DeepCopy()
	for _, selector := range []map[string]string{selectorOf(pod), service.Spec.Selector} {
		for key := range selector {
			delete(pod.Labels, key)
		}
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[criticalv2.AnnotationReleased] = at.UTC().Format(time.RFC3339Nano)
	return pod
}

// Relabelled is a Pod with what Rebound and Released wrote on another copy of it, which
// may hold less of the Pod than there is.
func Relabelled(pod, written *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Labels, pod.OwnerReferences = written.Labels, written.OwnerReferences
	for _, key := range []string{criticalv2.AnnotationOwned, criticalv2.AnnotationSelector, criticalv2.AnnotationReleased} {
		if value, found := written.Annotations[key]; found {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, key, value)
		} else {
			delete(pod.Annotations, key)
		}
	}
	return pod
}

// ReleasedAt is when a Pod left its Service; found is false if it has not. A
// time that cannot be read is long ago.
func ReleasedAt(pod *corev1.Pod) (at time.Time, found bool) {
	text, found := pod.Annotations[criticalv2.AnnotationReleased]
	if !found {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, true
	}
	return at, true
}

// bind writes on the Pod what ties it to its Service and its governor.
func bind(pod *corev1.Pod, service *corev1.Service, governor criticalv2.Policy, publish criticalv2.Publish, others []criticalv2.Policy) {
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	carried := map[string]string{}
	if publish == criticalv2.PublishSelectorLabels {
		carried = service.Spec.Selector
	} else {
		// A template may carry labels of the application by itself.
		for key := range service.Spec.Selector {
			delete(pod.Labels, key)
		}
	}
	maps.Copy(pod.Labels, carried)
	pod.Labels[criticalv2.LabelFallbackFor] = service.Name

	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	delete(pod.Annotations, criticalv2.AnnotationReleased)
	pod.Annotations[criticalv2.AnnotationOwned] = criticalv2.Owned
	// Marshalling a map of strings cannot fail, and sorts the keys.
	selector, _ := json.Marshal(carried)
	pod.Annotations[criticalv2.AnnotationSelector] = string(selector)

	references := owners(governor, others)
	for _, owner := range pod.OwnerReferences {
		if !ptr.Deref(owner.Controller, false) && !protection.IsPolicy(owner) {
			references = append(references, owner)
		}
	}
	pod.OwnerReferences = references
}

// maxOwners is how many other policies own a fallback: a team may have many, and each that
// comes or goes would be a write for every Service that it selects.
const maxOwners = 8

// owners are the policies that match a Service, the one that governs it as the controller:
// the garbage collector leaves a fallback alone, with the operator up or down, until the
// last of them has gone.
func owners(governor criticalv2.Policy, others []criticalv2.Policy) []metav1.OwnerReference {
	references := []metav1.OwnerReference{*controllerRef(governor)}
	// Those of the administrator first: a team that deletes all of its own keeps what he gives.
	others = slices.SortedStableFunc(slices.Values(others), func(a, b criticalv2.Policy) int {
		return strings.Compare(a.GetNamespace(), b.GetNamespace())
	})
	for _, other := range others[:min(len(others), maxOwners)] {
		ref := controllerRef(other)
		ref.Controller = nil
		references = append(references, *ref)
	}
	return references
}

// IsSelected reports whether the operator put the labels of a selector on the Pod.
func IsSelected(pod *corev1.Pod) bool { return len(selectorOf(pod)) > 0 }

// selectorOf is the selector whose labels the operator put on the Pod.
func selectorOf(pod *corev1.Pod) map[string]string {
	selector := map[string]string{}
	if err := json.Unmarshal([]byte(pod.Annotations[criticalv2.AnnotationSelector]), &selector); err != nil {
		return nil // A user edited the annotation: nothing is known, so nothing is taken off.
	}
	return selector
}

func controllerRef(governor criticalv2.Policy) *metav1.OwnerReference {
	ref := metav1.NewControllerRef(governor, governor.PolicyKind())
	ref.BlockOwnerDeletion = nil
	return ref
}

// TemplateHash identifies the contents of a PodTemplate.
func TemplateHash(template *corev1.PodTemplate) string {
	return Hash(template.Template)
}

// Hash identifies a value by its JSON form.
func Hash(value any) string {
	// The values hashed here are API types, which always marshal.
	data, _ := json.Marshal(value)
	return hash(string(data))
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}
