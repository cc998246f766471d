package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/scorecard/application"
	"github.com/critical-service/operator/test/scorecard/verdict"
)

// Application is a Service with a Pod that answers.
type Application struct {
	Service    *corev1.Service
	Deployment *appsv1.Deployment
}

// containerName is what scorecard calls the container of a test.
const containerName = "scorecard-test"

// OwnImage is the image of the very Pod in which the test runs: it is there, in a disconnected cluster too.
func (w *World) OwnImage(ctx context.Context) (string, error) {
	var pod corev1.Pod
	if err := w.Get(ctx, w.Self, &pod); err != nil {
		return "", fmt.Errorf("find the image of the test's own Pod: %w", err)
	}
	for _, container := range pod.Spec.Containers {
		if container.Name == containerName {
			return container.Image, nil
		}
	}
	return image(&pod), nil
}

// StartApplication makes an application, and waits until its Service answers a real request.
func (w *World) StartApplication(ctx context.Context, name string, labels map[string]string) (*Application, error) {
	from, err := w.OwnImage(ctx)
	if err != nil {
		return nil, err
	}
	w.Journal.Say("The test makes the Service %s/%s and a Deployment of the same name, of image %s.", w.Namespace, name, from)
	made := &Application{
		Service: application.Service(w.Namespace, name, labels), Deployment: application.Deployment(w.Namespace, name, from),
	}
	for _, object := range []client.Object{made.Deployment, made.Service} {
		if err := w.Create(ctx, object); err != nil {
			return nil, err
		}
	}
	err = w.Await(ctx, "a real answer of the application", func(ctx context.Context) (Observation, error) {
		answer := w.Ask(ctx, made)
		observation := Observation{Done: answer.By == ByApplication, Text: answer.String()}
		pods, err := w.Pods(ctx, "app="+name)
		if err != nil {
			return observation, err
		}
		for _, pod := range pods {
			if !podReady(&pod) {
				observation.Text += "; " + describePod(&pod)
			}
		}
		observation.Suggestion = "This is not about the operator yet: the test's own application does not answer. Can the nodes pull the image " +
			from + " in every namespace, and can Pods reach the addresses of Services?"
		return observation, nil
	})
	if err != nil {
		return nil, AsPrevented(err)
	}
	return made, nil
}

// AsPrevented says of a failure that it is not the operator's.
func AsPrevented(err error) error {
	if problem := new(verdict.TestError); errors.As(err, &problem) {
		problem.Prevented = true
	}
	return err
}

// Scale sets the number of Pods of an application.
func (w *World) Scale(ctx context.Context, app *Application, replicas int32) error {
	w.Journal.Say("The test scales Deployment %s to %d.", app.Deployment.Name, replicas)
	// A copy takes the answer: the application may be watched meanwhile.
	scale := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	return w.Patch(ctx, app.Deployment.DeepCopy(), client.RawPatch(types.MergePatchType, scale))
}

// PodsGone waits until an application has no Pod left.
func (w *World) PodsGone(ctx context.Context, app *Application) error {
	return AsPrevented(w.Await(ctx, "no Pod of the application any more", func(ctx context.Context) (Observation, error) {
		pods, err := w.Pods(ctx, "app="+app.Deployment.Name)
		return Observation{Done: len(pods) == 0, Text: fmt.Sprintf("%d Pods of the application", len(pods))}, err
	}))
}

// Pods are those of the test's namespace that a selector chooses, by name.
func (w *World) Pods(ctx context.Context, selector string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := w.List(ctx, &pods, client.InNamespace(w.Namespace), selecting(selector)); err != nil {
		return nil, fmt.Errorf("list the Pods of namespace %s: %w", w.Namespace, err)
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods.Items, nil
}
