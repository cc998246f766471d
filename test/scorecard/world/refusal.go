package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/test/scorecard/verdict"
)

// Spec is what a user writes, of one kind.
type Spec struct {
	Kind schema.GroupVersionKind
	// Text is the spec as YAML.
	Text string
}

// Mistake is a spec with a mistake that people make, and the message that they get.
type Mistake struct {
	Spec
	// What the mistake is.
	What string
	// Message is part of what the API server says.
	Message string
}

// Called is a kind as people write it.
func Called(kind schema.GroupVersionKind) string { return kind.Kind + " of " + kind.Version }

func definition(kind schema.GroupVersionKind) string {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return plural.Resource + "." + plural.Group
}

func installedTwice(kind schema.GroupVersionKind) string {
	return "Is the CustomResourceDefinition that of this version, and does the operator's webhook answer? " +
		"See kubectl get crd " + definition(kind) + " -o yaml, and reinstall the operator (docs/install.md)."
}

func conversionHint(kind schema.GroupVersionKind) string {
	return "The operator converts the versions of " + kind.Kind + ". Does its webhook answer, with the certificate that the " +
		"CustomResourceDefinition expects? See kubectl get crd " + definition(kind) + " -o jsonpath={.spec.conversion}, and the operator's log."
}

// Submit lets the API server judge a spec, as kubectl does, and store nothing.
func (w *World) Submit(ctx context.Context, spec Spec) error {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("{spec: "+spec.Text+"}"), &object.Object); err != nil {
		return err
	}
	object.SetGroupVersionKind(spec.Kind)
	object.SetName(w.Namespace)
	namespaced, err := w.IsObjectNamespaced(object)
	if err != nil {
		return err
	}
	if namespaced {
		object.SetNamespace(metav1.NamespaceDefault) // The test makes none, and nothing is stored.
	}
	return w.Create(ctx, object, client.DryRunAll, client.FieldValidation("Strict"))
}

// Judges submits what is valid, because an API server that refuses everything must not pass; and then each mistake, as a dry
// run: should one be accepted, nothing comes of it.
func (w *World) Judges(ctx context.Context, valid []Spec, mistakes []Mistake) error {
	for _, spec := range valid {
		if err := w.Submit(ctx, spec); err != nil {
			return verdict.Failed(installedTwice(spec.Kind), "a valid %s is refused: %v", Called(spec.Kind), err)
		}
		w.Journal.Say("A valid %s is accepted.", Called(spec.Kind))
	}
	var failed []error
	for _, mistake := range mistakes {
		failed = append(failed, w.Refused(mistake, w.Submit(ctx, mistake.Spec)))
	}
	return errors.Join(failed...)
}

// Refused judges what was said to a mistake.
func (w *World) Refused(mistake Mistake, err error) error {
	hint, kind := installedTwice(mistake.Kind), Called(mistake.Kind)
	switch {
	case err == nil:
		return verdict.Failed(hint, "%s (%s: %s) is accepted, and should be refused: %s", mistake.What, kind, mistake.Text, mistake.Message)
	case !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
		return verdict.Failed(hint, "%s (%s) could not be submitted: %v", mistake.What, kind, err)
	case !strings.Contains(err.Error(), mistake.Message):
		return verdict.Failed(hint, "%s (%s) is refused, without the documented message %q: %v", mistake.What, kind, mistake.Message, err)
	}
	w.Journal.Say("Refused: %s (%s): %s", mistake.What, kind, mistake.Message)
	return nil
}

// AwaitConversion waits until a valid spec of an earlier version is accepted, which needs the operator: it answers for some
// seconds not, after it was installed, and when OLM has renewed its certificate.
func (w *World) AwaitConversion(ctx context.Context, spec Spec) error {
	awaited := fmt.Sprintf("an API server that accepts %s, for which it asks the operator", spec.Kind.Version)
	return w.Await(ctx, awaited, func(ctx context.Context) (Observation, error) {
		err := w.Submit(ctx, spec)
		switch {
		case err == nil:
			return Observation{Done: true, Text: fmt.Sprintf("a valid %s is accepted", Called(spec.Kind))}, nil
		case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
			return Observation{}, verdict.Failed(installedTwice(spec.Kind), "a valid %s is refused: %v", Called(spec.Kind), err)
		case verdict.Final(err):
			return Observation{}, err
		}
		return Observation{Text: err.Error(), Suggestion: conversionHint(spec.Kind)}, nil
	})
}

// NotConverted says of an error that the versions of a kind are not converted.
func NotConverted(kind schema.GroupVersionKind, err error) error {
	if err == nil || verdict.Final(err) {
		return err
	}
	return verdict.Failed(conversionHint(kind), "the versions are not converted: %v", err)
}

// Same compares what was read of a kind, after a conversion, with what it should be.
func Same(kind schema.GroupVersionKind, what string, got, want any) error {
	if equality.Semantic.DeepEqual(got, want) {
		return nil
	}
	seen, err := json.Marshal(got)
	wanted, err2 := json.Marshal(want)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	return verdict.Failed(conversionHint(kind), "%s: it is %s, and should be %s", what, seen, wanted)
}
