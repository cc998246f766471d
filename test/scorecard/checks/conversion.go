package checks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/operator-framework/api/pkg/manifests"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/scorecard/verdict"
	"github.com/critical-service/operator/test/scorecard/world"
)

const conversionHint = "The operator converts (docs/spec/criticalservice.md#v1). Does its webhook answer, with the certificate that the " +
	"CustomResourceDefinition expects? See kubectl get crd criticalservices.mycrd.com -o jsonpath={.spec.conversion}, and the operator's log."

// examples is the annotation of a ClusterServiceVersion with one object of each kind.
const examples = "alm-examples"

// conversion: what is written in one version is read in the other, and nothing is lost on the way back.
func conversion(ctx context.Context, w *world.World) error {
	return inOrder(
		func() error { return converts(ctx, w) },
		func() error { return fromFirst(ctx, w) },
		func() error { return fromSecond(ctx, w) },
		func() error { return acceptExamples(ctx, w) },
	)
}

// fromFirst writes v1, reads v2, changes v2 and reads v1.
func fromFirst(ctx context.Context, w *world.World) error {
	name := w.Namespace + "-v1"
	first := &criticalv1.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: criticalv1.CriticalServiceSpec{
			// No Service has this label: the objects of this test protect nothing.
			Namespace: w.Namespace, MatchLabels: []criticalv1.LabelMatch{{Key: world.Label, Value: name}},
		},
	}
	if err := w.MakePolicy(ctx, first); err != nil {
		return notConverted(err)
	}
	second := &criticalv2.CriticalService{}
	key := client.ObjectKey{Name: name}
	if err := w.Get(ctx, key, second); err != nil {
		return notConverted(err)
	}
	want := criticalv2.CriticalServiceSpec{
		Namespaces:      []string{w.Namespace},
		ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{world.Label: name}},
		Precedence:      criticalv2.PrecedenceDefault,
		ProtectionSpec: criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{
			Activation: criticalv2.ActivationOnDemand, Publish: criticalv2.PublishSelectorLabels,
		}}},
	}
	if err := same("what v1 means, read as v2", second.Spec, want); err != nil {
		return err
	}
	w.Journal.Say("Written as v1, it is read as v2, as documented.")

	changed := second.DeepCopy()
	changed.Spec.ActivationDelay.Duration = 5 * time.Second
	if err := w.Patch(ctx, changed, client.MergeFrom(second)); err != nil {
		return notConverted(err)
	}
	again := &criticalv1.CriticalService{}
	if err := w.Get(ctx, key, again); err != nil {
		return notConverted(err)
	}
	if err := same("v1, after a change in v2 that v1 cannot say", again.Spec, first.Spec); err != nil {
		return err
	}
	w.Journal.Say("Changed as v2 (activationDelay: 5s), its v1 is what it was.")
	return nil
}

// fromSecond writes v2 with what v1 cannot say, writes it back as v1, and reads v2.
func fromSecond(ctx context.Context, w *world.World) error {
	name := w.Namespace + "-v2"
	second := w.PagePolicy()
	second.Name = name
	second.Spec.ServiceSelector.MatchLabels = map[string]string{world.Label: name}
	second.Spec.DeactivationDelay.Duration = 90 * time.Second
	if err := w.MakePolicy(ctx, second); err != nil {
		return err
	}
	first := &criticalv1.CriticalService{}
	key := client.ObjectKey{Name: name}
	if err := w.Get(ctx, key, first); err != nil {
		return notConverted(err)
	}
	want := criticalv1.CriticalServiceSpec{
		Namespace: w.Namespace, MatchLabels: []criticalv1.LabelMatch{{Key: world.Label, Value: name}},
	}
	if err := same("v2, read as v1", first.Spec, want); err != nil {
		return err
	}
	if err := writeBack(ctx, w, first); err != nil {
		return notConverted(err)
	}
	back := &criticalv2.CriticalService{}
	if err := w.Get(ctx, key, back); err != nil {
		return notConverted(err)
	}
	if err := same("v2, after it was read and written as v1", back.Spec, second.Spec); err != nil {
		return err
	}
	w.Journal.Say("Written as v2, read and written back as v1, its v2 has lost nothing: the page, its message and deactivationDelay: 90s are there.")
	return nil
}

// writeBack writes a v1 object as it was read; the operator writes its status at the same time.
func writeBack(ctx context.Context, w *world.World, first *criticalv1.CriticalService) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(first), first); err != nil {
			return err
		}
		return w.Update(ctx, first)
	})
}

func notConverted(err error) error {
	if verdict.Final(err) {
		return err
	}
	return verdict.Failed(conversionHint, "the versions are not converted: %v", err)
}

func same(what string, got, want any) error {
	if equality.Semantic.DeepEqual(got, want) {
		return nil
	}
	seen, err := json.Marshal(got)
	wanted, err2 := json.Marshal(want)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	return verdict.Failed(conversionHint, "%s: it is %s, and should be %s", what, seen, wanted)
}

// acceptExamples lets the API server judge the examples that the console of OLM offers to users.
func acceptExamples(ctx context.Context, w *world.World) error {
	found, err := readExamples(w.Bundle)
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
	for _, kind := range []schema.GroupVersionKind{firstKind, secondKind, fallbackKind, maintenanceKind} {
		if !slices.Contains(kinds, kind) {
			failed = append(failed, verdict.Failed("Add a sample to config/samples/kustomization.yaml, and run `make bundle`.",
				"the bundle has no example of a %s", called(kind)))
		}
	}
	return errors.Join(failed...)
}

func readExamples(folder string) ([]unstructured.Unstructured, error) {
	bundle, err := readBundle(folder)
	if err != nil {
		return nil, err
	}
	var found []unstructured.Unstructured
	if err := json.Unmarshal([]byte(bundle.CSV.GetAnnotations()[examples]), &found); err != nil {
		return nil, verdict.Failed("Run `make bundle`.", "the annotation %s of the bundle's ClusterServiceVersion is not a list of objects: %v", examples, err)
	}
	return found, nil
}

func readBundle(folder string) (*manifests.Bundle, error) {
	bundle, err := manifests.GetBundleFromDir(folder)
	if err == nil && bundle.CSV == nil {
		err = errors.New("it has no ClusterServiceVersion")
	}
	if err != nil {
		return nil, verdict.Prevented("Let scorecard run the test: operator-sdk scorecard BUNDLE puts the bundle there.",
			"there is no bundle in %s: %v", folder, err)
	}
	return bundle, nil
}
