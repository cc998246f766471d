package v2

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateBeyondSchema validates what the schema cannot express. The webhook
// rejects by these rules. An object that got past it is still served and converted
// as it is.
func (s *CriticalServiceSpec) ValidateBeyondSchema() field.ErrorList {
	spec := field.NewPath("spec")
	errs := s.ValidateSelectors()
	errs = append(errs, validateWhole(s.ActivationDelay, spec.Child("activationDelay"))...)
	return append(errs, validateWhole(s.DeactivationDelay, spec.Child("deactivationDelay"))...)
}

// ValidateSelectors returns what makes a selector unusable, mostly characters that
// no label has. The errors are always in the same order, so that a status that
// holds them does not change without a cause.
func (s *CriticalServiceSpec) ValidateSelectors() field.ErrorList {
	spec := field.NewPath("spec")
	errs := usable(s.NamespaceSelector, spec.Child("namespaceSelector"))
	return append(errs, usable(&s.ServiceSelector, spec.Child("serviceSelector"))...)
}

func usable(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	var errs field.ErrorList
	labels := path.Child("matchLabels")
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		errs = append(errs, metav1validation.ValidateLabelName(key, labels)...)
		value := selector.MatchLabels[key]
		for _, message := range validation.IsValidLabelValue(value) {
			errs = append(errs, field.Invalid(labels.Key(key), value, message))
		}
	}
	for i, requirement := range selector.MatchExpressions {
		errs = append(errs, metav1validation.ValidateLabelSelectorRequirement(requirement,
			metav1validation.LabelSelectorValidationOptions{}, path.Child("matchExpressions").Index(i))...)
	}
	return errs
}

// validateWhole rejects parts of a millisecond: Go writes a smaller delay in units
// that the schema does not know, so that it would not survive v1.
func validateWhole(delay metav1.Duration, path *field.Path) field.ErrorList {
	if delay.Duration%time.Millisecond != 0 {
		return field.ErrorList{field.Invalid(path, delay.Duration.String(), "must be a whole number of milliseconds, for example '250ms'")}
	}
	return nil
}
