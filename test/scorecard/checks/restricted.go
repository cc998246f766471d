package checks

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/scorecard/application"
	"github.com/critical-service/operator/test/scorecard/verdict"
	"github.com/critical-service/operator/test/scorecard/world"
)

// fromTemplate is the Service whose fallback is a Pod made from a PodTemplate.
const fromTemplate = "till"

// restricted: in a namespace that enforces it, both kinds of fallback Pods become ready; and all that the
// operator makes, and the operator itself, is held against the standard once more.
func restricted(ctx context.Context, w *world.World) error {
	s, err := protect(ctx, w)
	if err != nil {
		return err
	}
	if err := standbyPod(ctx, w); err != nil {
		return err
	}
	judge, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return fmt.Errorf("load the Pod Security standards: %w", err)
	}
	var deployment appsv1.Deployment
	if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: criticalv2.ResponderName}, &deployment); err != nil {
		return err
	}
	template := deployment.Spec.Template
	failed := []error{conforms(w, judge, "the template of Deployment "+deployment.Name, template.ObjectMeta, template.Spec)}

	pods, err := w.Pods(ctx, criticalv2.LabelFallbackFor)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		failed = append(failed, conforms(w, judge, "Pod "+pod.Name, pod.ObjectMeta, pod.Spec))
	}
	bundle, err := s.ReadBundle()
	if err != nil {
		return err
	}
	for _, installed := range bundle.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		template := installed.Spec.Template
		failed = append(failed, conforms(w, judge, "the operator itself, Deployment "+installed.Name+" of the bundle", template.ObjectMeta, template.Spec))
	}
	return errors.Join(failed...)
}

// standbyPod protects one more Service, with a Pod made from a PodTemplate.
func standbyPod(ctx context.Context, w *world.World) error {
	image, err := w.OwnImage(ctx)
	if err != nil {
		return err
	}
	labels := map[string]string{world.Label: w.Namespace + "-" + fromTemplate}
	if _, err := w.StartApplication(ctx, fromTemplate, labels); err != nil {
		return err
	}
	template := &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: fromTemplate},
		Template:   corev1.PodTemplateSpec{Spec: application.PodSpec(fromTemplate, image)},
	}
	w.Journal.Say("The test makes the PodTemplate %s.", template.Name)
	if err := w.Create(ctx, template); err != nil {
		return err
	}
	podPolicy := w.PagePolicy()
	podPolicy.Name += "-" + fromTemplate
	podPolicy.Spec.ServiceSelector.MatchLabels = labels
	podPolicy.Spec.Fallback = criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{
		Name: template.Name, Namespace: w.Namespace, Activation: criticalv2.ActivationStandby,
	}}
	if err := w.MakePolicy(ctx, podPolicy); err != nil {
		return err
	}
	return w.AwaitState(ctx, podPolicy, fromTemplate, criticalv2.StateArmed)
}

// conforms holds a Pod against the newest version of the standard.
func conforms(w *world.World, judge policy.Evaluator, what string, meta metav1.ObjectMeta, spec corev1.PodSpec) error {
	var problems []string
	for _, result := range judge.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &meta, &spec) {
		if !result.Allowed {
			problems = append(problems, result.ForbiddenReason+" ("+result.ForbiddenDetail+")")
		}
	}
	if len(problems) == 0 {
		w.Journal.Say("Pod Security restricted allows %s.", what)
		return nil
	}
	return verdict.Failed("This is a defect of the operator, or a webhook changes its Pods at admission: please report it, with the evidence of this test.",
		"Pod Security restricted does not allow %s: %s", what, strings.Join(problems, "; "))
}
