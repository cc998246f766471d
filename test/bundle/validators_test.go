package bundle

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// problems are what the validators of the newest library find in a bundle, warnings included.
func problems(bundle *manifests.Bundle) []string {
	// It starts docker, to look for the images in their registry.
	pulls := reflect.ValueOf(validation.MultipleArchitecturesValidator).Pointer()
	objects := append(bundle.ObjectsToValidate(), map[string]string{"k8s-version": "1.37"})
	// The pipeline of the catalog in OpenShift still runs name=operatorhub, which is no longer among the others.
	hub := validation.OperatorHubValidator //nolint:staticcheck // That it is deprecated is what it warns of in every bundle.
	var found []string
	for _, validator := range append(slices.Clone(validation.AllValidators), hub) {
		if reflect.ValueOf(validator).Pointer() == pulls {
			continue
		}
		for _, result := range validator.Validate(objects...) {
			for _, problem := range slices.Concat(result.Errors, result.Warnings) {
				if !strings.Contains(problem.Error(), `The "operatorhub" validator is deprecated`) {
					found = append(found, problem.Error())
				}
			}
		}
	}
	return found
}

// `make bundle-validate` runs the validators of the library that operator-sdk has, which is an older one.
func TestTheNewestValidatorsFindNothing(t *testing.T) {
	g := NewWithT(t)
	g.Expect(problems(load(g))).To(BeEmpty())

	broken := load(g)
	broken.CSV.Spec.Provider.Name = ""
	for _, object := range broken.Objects {
		if object.GetKind() == "PodDisruptionBudget" {
			g.Expect(unstructured.SetNestedField(object.Object, int64(0), "spec", "maxUnavailable")).To(Succeed())
		}
	}
	// Both operatorhub and its successor want a provider.
	g.Expect(problems(broken)).To(ContainElements(ContainSubstring("Provider"), ContainSubstring("Provider"), ContainSubstring("maxUnavailable")), "they would find something")
}

// It would say that the operator works on versions of OpenShift, on none of which it was tested.
func TestTheBundleNamesNoVersionOfOpenShift(t *testing.T) {
	g := NewWithT(t)
	for _, project := range projects {
		for _, file := range []string{project + "bundle/metadata/annotations.yaml", project + "bundle.Dockerfile"} {
			g.Expect(read(g, file)).NotTo(ContainSubstring("com.redhat.openshift.versions"), file)
		}
	}
}
