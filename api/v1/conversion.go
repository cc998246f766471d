package v1

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// What one version cannot express is kept in an annotation on the object of that
// version. Neither annotation is ever found on an object of the other.
const (
	// AnnotationV2Spec holds, on a v1 object, the whole spec of v2 as JSON, where
	// v1 cannot express all of it. The fields of v1 are a view of it: where they were
	// edited, they take precedence, and the rest is kept.
	AnnotationV2Spec = criticalv2.ReservedPrefix + "v2-spec"
	// AnnotationMatchLabelsOrder holds, on a v2 object, the keys of v1's
	// matchLabels in their order (a JSON list), where that is not the sorted one.
	AnnotationMatchLabelsOrder = criticalv2.ReservedPrefix + "v1-match-labels-order"
)

// expressionsOnly stands in a v1 object for a v2 selector without matchLabels,
// because v1 must have at least one. No Service carries it, so that a v1 object
// whose annotation got lost makes no other Service critical.
var expressionsOnly = LabelMatch{Key: criticalv2.ReservedPrefix + "v2-match-expressions", Value: "only"}

// Validity reports whether the schema of v2 accepts a spec. The API server
// validates an object by the schema of the version in which it is written, and not
// what an annotation holds. It is a parameter because its library is too large for
// a package that other projects import.
//
// +kubebuilder:object:generate=false
type Validity func(*criticalv2.CriticalServiceSpec) bool

// ConvertToV2 makes a v1 object into a v2 one. It leaves the TypeMeta of the v2
// object alone. An annotation that is not a valid v2 spec is ignored, so that it
// always succeeds.
func ConvertToV2(from *CriticalService, to *criticalv2.CriticalService, valid Validity) error {
	from.ObjectMeta.DeepCopyInto(&to.ObjectMeta)
	from.Status.DeepCopyInto(&to.Status)
	to.Spec = specToV2(&from.Spec, from.Annotations[AnnotationV2Spec], valid)
	order, err := orderOf(from.Spec.MatchLabels)
	if err != nil {
		return fmt.Errorf("note the order of matchLabels of CriticalService %q: %w", from.Name, err)
	}
	annotate(&to.ObjectMeta, AnnotationMatchLabelsOrder, order)
	return nil
}

// ConvertFromV2 makes a v2 object into a v1 one. It leaves the TypeMeta of the v1
// object alone. An annotation that is not an order of labels is ignored.
func ConvertFromV2(from *criticalv2.CriticalService, to *CriticalService) error {
	from.ObjectMeta.DeepCopyInto(&to.ObjectMeta)
	from.Status.DeepCopyInto(&to.Status)
	to.Spec = viewOf(&from.Spec, from.Annotations[AnnotationMatchLabelsOrder])
	rest := ""
	if !equality.Semantic.DeepEqual(from.Spec, plain(&to.Spec)) {
		data, err := json.Marshal(&from.Spec)
		if err != nil {
			return fmt.Errorf("keep what v1 cannot express of CriticalService %q: %w", from.Name, err)
		}
		rest = string(data)
	}
	annotate(&to.ObjectMeta, AnnotationV2Spec, rest)
	return nil
}

// plain is what a v1 spec means, without an annotation.
func plain(spec *CriticalServiceSpec) criticalv2.CriticalServiceSpec {
	result := criticalv2.CriticalServiceSpec{
		Precedence: criticalv2.PrecedenceDefault,
		ProtectionSpec: criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{
			Activation: criticalv2.ActivationOnDemand,
			Publish:    criticalv2.PublishSelectorLabels,
		}}},
	}
	setNamespace(&result, spec.Namespace)
	setLabels(&result, spec.MatchLabels)
	return result
}

// specToV2 is the spec in the annotation, with what was edited in the v1 view.
func specToV2(spec *CriticalServiceSpec, annotation string, valid Validity) criticalv2.CriticalServiceSpec {
	var result criticalv2.CriticalServiceSpec
	if json.Unmarshal([]byte(annotation), &result) != nil || !valid(&result) {
		return plain(spec)
	}
	view := viewOf(&result, "")
	if spec.Namespace != view.Namespace {
		setNamespace(&result, spec.Namespace)
	}
	if !sameLabels(spec.MatchLabels, view.MatchLabels) {
		labels := slices.DeleteFunc(slices.Clone(spec.MatchLabels), func(l LabelMatch) bool { return l == expressionsOnly })
		setLabels(&result, labels)
	}
	return result
}

// viewOf is as much of a v2 spec as v1 can express. Of several namespaces v1 shows
// the first, so that a v1 object whose annotation got lost makes no other Service
// critical; only a namespaceSelector, and expressions beside labels, are lost with it.
func viewOf(spec *criticalv2.CriticalServiceSpec, order string) CriticalServiceSpec {
	var view CriticalServiceSpec
	if len(spec.Namespaces) > 0 {
		view.Namespace = spec.Namespaces[0]
	}
	for _, key := range inOrder(spec.ServiceSelector.MatchLabels, order) {
		view.MatchLabels = append(view.MatchLabels, LabelMatch{Key: key, Value: spec.ServiceSelector.MatchLabels[key]})
	}
	if len(view.MatchLabels) == 0 {
		view.MatchLabels = []LabelMatch{expressionsOnly}
	}
	return view
}

func setNamespace(spec *criticalv2.CriticalServiceSpec, namespace string) {
	spec.Namespaces, spec.NamespaceSelector = nil, nil
	if namespace != "" {
		spec.Namespaces = []string{namespace}
	}
}

// setLabels leaves matchExpressions as they are. The schema of v1 allows no key
// twice; should an object have one, with two values, it still matches nothing.
func setLabels(spec *criticalv2.CriticalServiceSpec, labels []LabelMatch) {
	selector := &spec.ServiceSelector
	selector.MatchLabels = make(map[string]string, len(labels))
	for _, label := range labels {
		if value, found := selector.MatchLabels[label.Key]; found && value != label.Value {
			selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
				Key: label.Key, Operator: metav1.LabelSelectorOpIn, Values: []string{label.Value},
			})
			continue
		}
		selector.MatchLabels[label.Key] = label.Value
	}
}

// sameLabels reports whether two lists hold the same labels, in any order.
func sameLabels(some, others []LabelMatch) bool {
	if len(some) != len(others) {
		return false
	}
	for _, label := range some {
		if !slices.Contains(others, label) {
			return false
		}
	}
	for _, label := range others {
		if !slices.Contains(some, label) {
			return false
		}
	}
	return true
}

// orderOf is the order of a list's keys as an annotation: empty, if they are
// sorted.
func orderOf(labels []LabelMatch) (string, error) {
	keys := make([]string, 0, len(labels))
	for _, label := range labels {
		keys = append(keys, label.Key)
	}
	if slices.IsSorted(keys) {
		return "", nil
	}
	data, err := json.Marshal(keys)
	return string(data), err
}

// inOrder are the keys of labels: first those that an annotation names, in its
// order, then the others, sorted.
func inOrder(labels map[string]string, annotation string) []string {
	var wanted, keys []string
	if json.Unmarshal([]byte(annotation), &wanted) != nil {
		wanted = nil
	}
	for _, key := range slices.Concat(wanted, slices.Sorted(maps.Keys(labels))) {
		if _, found := labels[key]; found && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// annotate sets the annotation of the version that is converted to, unless it is
// empty, and takes off that of the other. One that would make the annotations of
// the object larger than Kubernetes allows is left out: a refused answer would
// hide the object, and every list that holds it.
func annotate(meta *metav1.ObjectMeta, key, value string) {
	delete(meta.Annotations, AnnotationV2Spec)
	delete(meta.Annotations, AnnotationMatchLabelsOrder)
	size := len(key) + len(value)
	for key, value := range meta.Annotations {
		size += len(key) + len(value)
	}
	if value != "" && size <= validation.TotalAnnotationSizeLimitB {
		metav1.SetMetaDataAnnotation(meta, key, value)
	}
	if len(meta.Annotations) == 0 {
		meta.Annotations = nil
	}
}
