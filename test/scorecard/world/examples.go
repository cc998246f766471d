package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/manifests"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/scorecard/verdict"
)

// examples is the annotation of a ClusterServiceVersion with one object of each kind.
const examples = "alm-examples"

// AcceptsExamples lets the API server judge the examples that the console of OLM offers to users: at least one of each kind.
func (w *World) AcceptsExamples(ctx context.Context, wanted ...schema.GroupVersionKind) error {
	found, err := w.readExamples()
	if err != nil {
		return err
	}
	var failed []error
	var kinds []schema.GroupVersionKind
	for _, example := range found {
		called := fmt.Sprintf("%s %q of %s", example.GetKind(), example.GetName(), example.GetAPIVersion())
		kinds = append(kinds, example.GroupVersionKind())
		// By another name, because a user may have created the very example.
		example.SetName(w.Namespace)
		if err := w.Create(ctx, &example, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
			failed = append(failed, verdict.Failed("Fix the sample in config/samples, and run `make bundle`.",
				"the bundle's example %s is not accepted: %v", called, err))
			continue
		}
		w.Journal.Say("The bundle's example %s is accepted.", called)
	}
	for _, kind := range wanted {
		if !slices.Contains(kinds, kind) {
			failed = append(failed, verdict.Failed("Add a sample to config/samples/kustomization.yaml, and run `make bundle`.",
				"the bundle has no example of a %s", Called(kind)))
		}
	}
	return errors.Join(failed...)
}

func (w *World) readExamples() ([]unstructured.Unstructured, error) {
	bundle, err := w.ReadBundle()
	if err != nil {
		return nil, err
	}
	var found []unstructured.Unstructured
	if err := json.Unmarshal([]byte(bundle.CSV.GetAnnotations()[examples]), &found); err != nil {
		return nil, verdict.Failed("Run `make bundle`.", "the annotation %s of the bundle's ClusterServiceVersion is not a list of objects: %v", examples, err)
	}
	return found, nil
}

// ReadBundle reads the operator's bundle.
func (w *World) ReadBundle() (*manifests.Bundle, error) {
	bundle, err := manifests.GetBundleFromDir(w.Bundle)
	if err == nil && bundle.CSV == nil {
		err = errors.New("it has no ClusterServiceVersion")
	}
	if err != nil {
		return nil, verdict.Prevented("Let scorecard run the test: operator-sdk scorecard BUNDLE puts the bundle there.",
			"there is no bundle in %s: %v", w.Bundle, err)
	}
	return bundle, nil
}
