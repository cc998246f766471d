package checks

import (
	"context"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/scorecard/application"
	"github.com/critical-service/operator/test/scorecard/suite"
	"github.com/critical-service/operator/test/scorecard/verdict"
	"github.com/critical-service/operator/test/scorecard/world"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// shop is the name of the AppConfig of a test, and of the Deployment that uses it.
const shop = "shop"

// makeFirst makes the namespace of the test and in it an AppConfig of v1, and reads it as v2.
func makeFirst(ctx context.Context, w *world.World) (*workloadsv2.AppConfig, error) {
	if err := w.AwaitConversion(ctx, validFirst); err != nil {
		return nil, err
	}
	if err := w.MakeNamespace(ctx); err != nil {
		return nil, err
	}
	first := &workloadsv1.AppConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: shop},
		Spec:       workloadsv1.AppConfigSpec{AppName: shop, Config: workloadsv2.Settings{"LOG_LEVEL": "debug", "COLOUR": "blue"}},
	}
	w.Journal.Say("The test makes the AppConfig %s, as v1.", first.Name)
	if err := w.Create(ctx, first); err != nil {
		return nil, world.NotConverted(firstKind, err)
	}
	second := &workloadsv2.AppConfig{}
	if err := w.Get(ctx, client.ObjectKeyFromObject(first), second); err != nil {
		return nil, world.NotConverted(firstKind, err)
	}
	want := workloadsv2.AppConfigSpec{AppName: shop, Configuration: workloadsv2.Configuration{Settings: first.Spec.Config}}
	if err := world.Same(firstKind, "what v1 means, read as v2", second.Spec, want); err != nil {
		return nil, err
	}
	w.Journal.Say("Written as v1, it is read as v2, as documented.")
	return second, nil
}

// versions: what is written in one version is read in the other, and nothing is lost on the way back.
func versions(ctx context.Context, w *world.World) error {
	second, err := makeFirst(ctx, w)
	if err != nil {
		return err
	}
	return suite.InOrder(
		func() error { return change(ctx, w, second, second.Spec.Configuration.Settings, "1.4") },
		func() error { return readAsFirst(ctx, w, second) },
		func() error { return w.AcceptsExamples(ctx, databaseKind, webAppKind, firstKind, secondKind) },
	)
}

// readAsFirst reads an AppConfig as v1, which has no field for the version; writes it back so, and reads v2.
func readAsFirst(ctx context.Context, w *world.World, second *workloadsv2.AppConfig) error {
	first, key := &workloadsv1.AppConfig{}, client.ObjectKeyFromObject(second)
	if err := w.Get(ctx, key, first); err != nil {
		return world.NotConverted(firstKind, err)
	}
	want := workloadsv1.AppConfigSpec{AppName: shop, Config: second.Spec.Configuration.Settings}
	if err := world.Same(firstKind, "v2, read as v1", first.Spec, want); err != nil {
		return err
	}
	version := second.Spec.Configuration.Version
	if err := world.Same(firstKind, "the annotation "+workloadsv2.AnnotationVersion+" of v1", first.Annotations[workloadsv2.AnnotationVersion], version); err != nil {
		return err
	}
	before := first.DeepCopy()
	first.Spec.Config["COLOUR"] = "red"
	if err := w.Patch(ctx, first, client.MergeFrom(before)); err != nil {
		return world.NotConverted(firstKind, err)
	}
	again := &workloadsv2.AppConfig{}
	if err := w.Get(ctx, key, again); err != nil {
		return world.NotConverted(firstKind, err)
	}
	changed := workloadsv2.AppConfigSpec{AppName: shop, Configuration: workloadsv2.Configuration{Settings: first.Spec.Config, Version: version}}
	if err := world.Same(firstKind, "v2, after a change in v1", again.Spec, changed); err != nil {
		return err
	}
	w.Journal.Say("Changed as v1, its v2 has lost nothing: its version is %s.", version)
	return nil
}

// change writes other settings, and what they are called.
func change(ctx context.Context, w *world.World, config *workloadsv2.AppConfig, settings workloadsv2.Settings, version string) error {
	before := config.DeepCopy()
	config.Spec.Configuration = workloadsv2.Configuration{Settings: settings, Version: version}
	w.Journal.Say("The test changes the AppConfig: %v, version %s.", settings, version)
	return w.Patch(ctx, config, client.MergeFrom(before))
}

// rollout: the settings are an immutable ConfigMap, which a Deployment takes; and a change of them rolls it once.
func rollout(ctx context.Context, w *world.World) error {
	config, err := makeFirst(ctx, w)
	if err != nil {
		return err
	}
	image, err := w.OwnImage(ctx)
	if err != nil {
		return err
	}
	deployment := application.Deployment(w.Namespace, shop, image)
	deployment.Labels = map[string]string{workloadsv2.LabelAppConfig: config.Name}
	w.Journal.Say("The test makes the Deployment %s, which uses the AppConfig.", deployment.Name)
	if err := w.Create(ctx, deployment); err != nil {
		return err
	}
	var before, after int
	var old string
	return suite.InOrder(
		func() error { return awaitRendered(ctx, w, config) },
		func() (err error) { before, err = awaitTaken(ctx, w, config, deployment); return err },
		func() error {
			old = config.Status.ConfigMapName
			return change(ctx, w, config, workloadsv2.Settings{"LOG_LEVEL": "info", "COLOUR": "red", "SIZE": "9"}, "2")
		},
		func() error { return awaitRendered(ctx, w, config) },
		func() (err error) { after, err = awaitTaken(ctx, w, config, deployment); return err },
		func() error {
			if after != before+1 {
				return verdict.Failed(defect, "Deployment %s has rolled %d times for one change", deployment.Name, after-before)
			}
			w.Journal.Say("The Deployment has rolled once.")
			return exists(ctx, w, "ConfigMap", &corev1.ConfigMap{}, old)
		},
	)
}

// awaitRendered waits until an AppConfig is up to date, and checks its ConfigMap.
func awaitRendered(ctx context.Context, w *world.World, config *workloadsv2.AppConfig) error {
	err := w.Await(ctx, "an AppConfig that is Ready", func(ctx context.Context) (world.Observation, error) {
		if err := w.Get(ctx, client.ObjectKeyFromObject(config), config); err != nil {
			return world.Observation{}, err
		}
		seen := world.Observation{
			Text:       "the operator has not said whether it is Ready",
			Suggestion: "Look up the reason in docs/spec/appconfig.md. " + w.OperatorLog(),
		}
		ready := meta.FindStatusCondition(config.Status.Conditions, workloadsv2.ConditionReady)
		if ready != nil && ready.ObservedGeneration == config.Generation {
			seen.Done = ready.Status == metav1.ConditionTrue
			seen.Text = fmt.Sprintf("Ready=%s, %s: %s", ready.Status, ready.Reason, ready.Message)
		}
		return seen, nil
	})
	if err != nil {
		return err
	}
	name, made := config.Status.ConfigMapName, &corev1.ConfigMap{}
	if err := exists(ctx, w, "ConfigMap", made, name); err != nil {
		return err
	}
	switch {
	case !equality.Semantic.DeepEqual(made.Data, map[string]string(config.Spec.Configuration.Settings)):
		return verdict.Failed(defect, "ConfigMap %s has %v, and should have %v", name, made.Data, config.Spec.Configuration.Settings)
	case !ptr.Deref(made.Immutable, false):
		return verdict.Failed(defect, "ConfigMap %s is not immutable", name)
	case !metav1.IsControlledBy(made, config):
		return verdict.Failed(defect, "ConfigMap %s does not belong to the AppConfig: its owners are %v", name, made.OwnerReferences)
	}
	w.Journal.Say("ConfigMap %s is immutable, and has the settings.", name)
	return nil
}

// awaitTaken waits until the Pod of a Deployment has the newest settings, and counts how often the Deployment has rolled, as
// Kubernetes does.
func awaitTaken(ctx context.Context, w *world.World, config *workloadsv2.AppConfig, deployment *appsv1.Deployment) (rolled int, err error) {
	const revision = "deployment.kubernetes.io/revision"
	name := config.Status.ConfigMapName
	err = w.Await(ctx, "a Deployment that takes ConfigMap "+name, func(ctx context.Context) (world.Observation, error) {
		if err := w.Get(ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil {
			return world.Observation{}, err
		}
		var taken []string
		for _, from := range deployment.Spec.Template.Spec.Containers[0].EnvFrom {
			if from.ConfigMapRef != nil {
				taken = append(taken, from.ConfigMapRef.Name)
			}
		}
		status := deployment.Status
		return world.Observation{
			Done: len(taken) == 1 && taken[0] == name && status.ObservedGeneration == deployment.Generation &&
				status.UpdatedReplicas == 1 && status.Replicas == 1 && status.ReadyReplicas == 1,
			Text: fmt.Sprintf("it takes %q, and %d of its %d Pods are of this template, %d ready",
				taken, status.UpdatedReplicas, status.Replicas, status.ReadyReplicas),
			Suggestion: "Does the AppConfig say Ready, and can the nodes start the Pods of the Deployment? " + w.OperatorLog(),
		}, nil
	})
	if err != nil {
		return 0, err
	}
	if rolled, err = strconv.Atoi(deployment.Annotations[revision]); err != nil {
		return 0, fmt.Errorf("read how often Deployment %s has rolled: %w", deployment.Name, err)
	}
	return rolled, nil
}
