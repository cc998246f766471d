package checks

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/scorecard/suite"
	"github.com/critical-service/operator/test/scorecard/world"
)

// conversion: what is written in one version is read in the other, and nothing is lost on the way back.
func conversion(ctx context.Context, w *world.World) error {
	return suite.InOrder(
		func() error { return w.AwaitConversion(ctx, validFirst) },
		func() error { return fromFirst(ctx, w) },
		func() error { return fromSecond(ctx, w) },
		func() error {
			return w.AcceptsExamples(ctx, firstKind, secondKind, fallbackKind, maintenanceKind)
		},
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
		return world.NotConverted(secondKind, err)
	}
	second := &criticalv2.CriticalService{}
	key := client.ObjectKey{Name: name}
	if err := w.Get(ctx, key, second); err != nil {
		return world.NotConverted(secondKind, err)
	}
	want := criticalv2.CriticalServiceSpec{
		Namespaces:      []string{w.Namespace},
		ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{world.Label: name}},
		Precedence:      criticalv2.PrecedenceDefault,
		ProtectionSpec: criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{
			Activation: criticalv2.ActivationOnDemand, Publish: criticalv2.PublishSelectorLabels,
		}}},
	}
	if err := world.Same(secondKind, "what v1 means, read as v2", second.Spec, want); err != nil {
		return err
	}
	w.Journal.Say("Written as v1, it is read as v2, as documented.")

	changed := second.DeepCopy()
	changed.Spec.ActivationDelay.Duration = 5 * time.Second
	if err := w.Patch(ctx, changed, client.MergeFrom(second)); err != nil {
		return world.NotConverted(secondKind, err)
	}
	again := &criticalv1.CriticalService{}
	if err := w.Get(ctx, key, again); err != nil {
		return world.NotConverted(secondKind, err)
	}
	if err := world.Same(secondKind, "v1, after a change in v2 that v1 cannot say", again.Spec, first.Spec); err != nil {
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
		return world.NotConverted(secondKind, err)
	}
	want := criticalv1.CriticalServiceSpec{
		Namespace: w.Namespace, MatchLabels: []criticalv1.LabelMatch{{Key: world.Label, Value: name}},
	}
	if err := world.Same(secondKind, "v2, read as v1", first.Spec, want); err != nil {
		return err
	}
	if err := writeBack(ctx, w, first); err != nil {
		return world.NotConverted(secondKind, err)
	}
	back := &criticalv2.CriticalService{}
	if err := w.Get(ctx, key, back); err != nil {
		return world.NotConverted(secondKind, err)
	}
	if err := world.Same(secondKind, "v2, after it was read and written as v1", back.Spec, second.Spec); err != nil {
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
