package v2

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The bounds of the schema, as its markers have them.
const (
	maxNamespaces     = 64
	maxDelay          = time.Hour
	minStatusCode     = 400
	maxStatusCode     = 599
	maxRetryAfter     = 86400
	maxMessage        = 1024
	maxReplicas       = 10
	maxProbes         = 32
	maxPath           = 256
	maxUserAgent      = 128
	maxRequirements   = 16
	maxLabelKey       = 317
	maxLabelValue     = 63
	maxSelectorValues = 16
)

var (
	controlCharacter = regexp.MustCompile(`[\x00-\x1f\x7f]`)
	probePath        = regexp.MustCompile(`^/[\x21\x22\x24-\x3e\x40-\x7e]*$`)
	userAgent        = regexp.MustCompile(`^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$`)
)

// Validate holds a spec to the rules of the schema, for a spec that did not come
// through the API server: the API server holds an object to the schema of the
// version in which it is written, and a v2 spec may ride in an annotation of a v1
// object. A field that is not set is valid where the schema has a default.
func (s *CriticalServiceSpec) Validate() field.ErrorList {
	spec := field.NewPath("spec")
	errs := validateNames(s.Namespaces, spec.Child("namespaces"))
	if selector := spec.Child("namespaceSelector"); s.NamespaceSelector != nil {
		if len(s.Namespaces) > 0 {
			errs = append(errs, field.Forbidden(selector, "not together with namespaces"))
		}
		errs = append(errs, validateSelector(s.NamespaceSelector, selector)...)
	}
	selector := spec.Child("serviceSelector")
	if len(s.ServiceSelector.MatchLabels) == 0 && len(s.ServiceSelector.MatchExpressions) == 0 {
		errs = append(errs, field.Required(selector, "an empty selector would make every Service of the cluster critical"))
	}
	errs = append(errs, validateSelector(&s.ServiceSelector, selector)...)
	errs = append(errs, validateDelay(s.ActivationDelay, spec.Child("activationDelay"))...)
	errs = append(errs, validateDelay(s.DeactivationDelay, spec.Child("deactivationDelay"))...)
	return append(errs, s.Fallback.validate(spec.Child("fallback"))...)
}

// ValidateBeyondSchema holds a spec to the rules that the schema cannot express.
// The webhook refuses by them. An object that got past it is still served and
// converted as it is, so that Validate knows nothing of them.
func (s *CriticalServiceSpec) ValidateBeyondSchema() field.ErrorList {
	spec := field.NewPath("spec")
	errs := s.ValidateSelectors()
	errs = append(errs, validateWhole(s.ActivationDelay, spec.Child("activationDelay"))...)
	return append(errs, validateWhole(s.DeactivationDelay, spec.Child("deactivationDelay"))...)
}

// ValidateSelectors finds what keeps a selector from being used: characters that
// no label has, for the most part. The errors are always in the same order, so
// that a status that contains them does not change without cause.
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

// validateWhole refuses parts of a millisecond: Go writes a smaller delay in
// units that the schema does not know, so that it would not survive v1.
func validateWhole(delay metav1.Duration, path *field.Path) field.ErrorList {
	if delay.Duration%time.Millisecond != 0 {
		return field.ErrorList{field.Invalid(path, delay.Duration.String(), "must be a whole number of milliseconds, for example '250ms'")}
	}
	return nil
}

func validateNames(namespaces []string, path *field.Path) field.ErrorList {
	errs := validateSet(namespaces, maxNamespaces, path)
	for i, name := range namespaces {
		for _, message := range validation.IsDNS1123Label(name) {
			errs = append(errs, field.Invalid(path.Index(i), name, message))
		}
	}
	return errs
}

// validateSelector leaves the characters of keys and values alone, as the schema
// does: ValidateSelectors checks them.
func validateSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	errs := atMost(len(selector.MatchLabels), maxRequirements, path.Child("matchLabels"))
	for key, value := range selector.MatchLabels {
		errs = append(errs, validateLabelKey(key, path.Child("matchLabels"))...)
		errs = append(errs, validateLength(value, maxLabelValue, path.Child("matchLabels").Key(key))...)
	}
	errs = append(errs, atMost(len(selector.MatchExpressions), maxRequirements, path.Child("matchExpressions"))...)
	for i := range selector.MatchExpressions {
		requirement, path := &selector.MatchExpressions[i], path.Child("matchExpressions").Index(i)
		errs = append(errs, validateLabelKey(requirement.Key, path.Child("key"))...)
		errs = append(errs, atMost(len(requirement.Values), maxSelectorValues, path.Child("values"))...)
		switch requirement.Operator {
		case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
			if len(requirement.Values) == 0 {
				errs = append(errs, field.Required(path.Child("values"), "In and NotIn need values"))
			}
		case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
			if len(requirement.Values) > 0 {
				errs = append(errs, field.Forbidden(path.Child("values"), "Exists and DoesNotExist have no values"))
			}
		default:
			errs = append(errs, field.NotSupported(path.Child("operator"), requirement.Operator, []metav1.LabelSelectorOperator{
				metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist,
			}))
		}
	}
	return errs
}

func validateLabelKey(key string, path *field.Path) field.ErrorList {
	if key == "" {
		return field.ErrorList{field.Required(path, "a label has a key")}
	}
	return validateLength(key, maxLabelKey, path)
}

func validateDelay(delay metav1.Duration, path *field.Path) field.ErrorList {
	if delay.Duration < 0 || delay.Duration > maxDelay {
		return field.ErrorList{field.Invalid(path, delay.Duration.String(), "must be from 0s to 1h")}
	}
	return nil
}

// validate accepts a fallback without members: it is the default.
func (f *Fallback) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	members := 0
	if f.Page != nil {
		members++
		errs = append(errs, f.Page.validate(path.Child("page"))...)
	}
	if f.PodTemplate != nil {
		members++
		errs = append(errs, f.PodTemplate.validate(path.Child("podTemplate"))...)
	}
	if f.Service != nil {
		members++
		for _, message := range validation.IsDNS1123Label(f.Service.Name) {
			errs = append(errs, field.Invalid(path.Child("service", "name"), f.Service.Name, message))
		}
	}
	if members > 1 {
		errs = append(errs, field.Forbidden(path, "must have exactly one of page, podTemplate and service"))
	}
	return errs
}

func (p *PageFallback) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p.StatusCode != 0 {
		errs = append(errs, within(p.StatusCode, minStatusCode, maxStatusCode, path.Child("statusCode"))...)
	}
	if p.RetryAfterSeconds != nil {
		errs = append(errs, within(*p.RetryAfterSeconds, 0, maxRetryAfter, path.Child("retryAfterSeconds"))...)
	}
	errs = append(errs, validateLength(p.Message, maxMessage, path.Child("message"))...)
	if controlCharacter.MatchString(p.Message) {
		errs = append(errs, field.Invalid(path.Child("message"), p.Message, "must be one line of text"))
	}
	if p.ConfigMapName != "" {
		for _, message := range validation.IsDNS1123Subdomain(p.ConfigMapName) {
			errs = append(errs, field.Invalid(path.Child("configMapName"), p.ConfigMapName, message))
		}
	}
	if p.Replicas != nil {
		errs = append(errs, within(*p.Replicas, 1, maxReplicas, path.Child("replicas"))...)
	}
	if p.Probes != nil {
		probes := path.Child("probes")
		errs = append(errs, validateProbes(p.Probes.Paths, probePath, maxPath, probes.Child("paths"))...)
		errs = append(errs, validateProbes(p.Probes.UserAgents, userAgent, maxUserAgent, probes.Child("userAgents"))...)
	}
	return errs
}

func validateProbes(values []string, form *regexp.Regexp, longest int, path *field.Path) field.ErrorList {
	errs := validateSet(values, maxProbes, path)
	for i, value := range values {
		errs = append(errs, validateLength(value, longest, path.Index(i))...)
		if !form.MatchString(value) {
			errs = append(errs, field.Invalid(path.Index(i), value, "must match "+form.String()))
		}
	}
	return errs
}

func (t *PodTemplateFallback) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if t.Name != "" {
		for _, message := range validation.IsDNS1123Subdomain(t.Name) {
			errs = append(errs, field.Invalid(path.Child("name"), t.Name, message))
		}
	}
	if t.Namespace != "" {
		for _, message := range validation.IsDNS1123Label(t.Namespace) {
			errs = append(errs, field.Invalid(path.Child("namespace"), t.Namespace, message))
		}
		if t.Name == "" {
			errs = append(errs, field.Required(path.Child("name"), "a namespace alone names no PodTemplate"))
		}
	}
	activations := sets.New("", ActivationOnDemand, ActivationStandby)
	if !activations.Has(t.Activation) {
		errs = append(errs, field.NotSupported(path.Child("activation"), t.Activation, sets.List(activations)))
	}
	publishings := sets.New("", PublishEndpointSlice, PublishSelectorLabels)
	if !publishings.Has(t.Publish) {
		errs = append(errs, field.NotSupported(path.Child("publish"), t.Publish, sets.List(publishings)))
	}
	if t.Publish == PublishSelectorLabels && t.Activation == ActivationStandby {
		errs = append(errs, field.Forbidden(path.Child("publish"), "SelectorLabels needs activation OnDemand"))
	}
	return errs
}

func validateSet(values []string, most int, path *field.Path) field.ErrorList {
	errs := atMost(len(values), most, path)
	seen := sets.New[string]()
	for i, value := range values {
		if seen.Has(value) {
			errs = append(errs, field.Duplicate(path.Index(i), value))
		}
		seen.Insert(value)
	}
	return errs
}

func validateLength(value string, longest int, path *field.Path) field.ErrorList {
	if utf8.RuneCountInString(value) > longest {
		return field.ErrorList{field.TooLong(path, value, longest)}
	}
	return nil
}

func atMost(count, most int, path *field.Path) field.ErrorList {
	if count > most {
		return field.ErrorList{field.TooMany(path, count, most)}
	}
	return nil
}

func within(value, least, most int32, path *field.Path) field.ErrorList {
	if value < least || value > most {
		return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("must be from %d to %d", least, most))}
	}
	return nil
}
