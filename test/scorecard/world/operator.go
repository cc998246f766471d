package world

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/scorecard/verdict"
)

const install = "Install the operator in this cluster first (docs/install.md: make deploy, a catalog, or operator-sdk run bundle), " +
	"and run scorecard again. Scorecard itself installs nothing."

// operatorPods are the Pods of the operator, however it was installed.
func (w *World) operatorPods() string {
	return "app.kubernetes.io/name=" + w.Operator.Name + ",app.kubernetes.io/component=manager"
}

// OperatorLog suggests to read what the operator says.
func (w *World) OperatorLog() string {
	return "See what the operator says: kubectl logs --all-namespaces --prefix --selector " + w.operatorPods()
}

// OperatorRuns looks for the operator, so that a test of none fails at once, and says so.
func (w *World) OperatorRuns(ctx context.Context) error {
	list, _ := w.Operator.Kind.DeepCopyObject().(client.ObjectList)
	kind, err := w.kindOf(list)
	if err != nil {
		return err
	}
	if err := w.List(ctx, list, client.Limit(1)); err != nil {
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			return verdict.Prevented(install, "the API server does not know the kind %s of %s: the operator is not installed",
				kind.Kind, kind.GroupVersion())
		}
		return fmt.Errorf("look for the operator: %w", err)
	}
	pods, err := w.operator(ctx)
	if err != nil {
		return err
	}
	if len(pods) == 0 {
		return verdict.Prevented(install, "no namespace has a Pod of the operator (labels %s): it is not installed, or scaled to zero", w.operatorPods())
	}
	return w.Await(ctx, "an operator that is ready", func(ctx context.Context) (Observation, error) {
		pods, err := w.operator(ctx)
		if err != nil {
			return Observation{}, err
		}
		observation := Observation{Suggestion: "See why the operator is not ready: kubectl describe pods --all-namespaces --selector " +
			w.operatorPods() + ". " + w.OperatorLog()}
		var seen []string
		for _, pod := range pods {
			observation.Done = observation.Done || podReady(&pod)
			seen = append(seen, describePod(&pod))
		}
		observation.Text = strings.Join(seen, "; ")
		return observation, nil
	})
}

// OperatorPods are the Pods of the operator.
func (w *World) operator(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := w.List(ctx, &pods, selecting(w.operatorPods())); err != nil {
		return nil, fmt.Errorf("look for the Pods of the operator: %w", err)
	}
	return pods.Items, nil
}

func podReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

// describePod says how a Pod is, and what keeps it from being ready.
func describePod(pod *corev1.Pod) string {
	text := fmt.Sprintf("Pod %s/%s of image %s", pod.Namespace, pod.Name, image(pod))
	switch {
	case pod.DeletionTimestamp != nil:
		return text + " is ending"
	case podReady(pod):
		return text + " is ready"
	}
	text += fmt.Sprintf(" is %s", pod.Status.Phase)
	for _, container := range pod.Status.ContainerStatuses {
		if waiting := container.State.Waiting; waiting != nil {
			text += fmt.Sprintf(", container %s: %s %s", container.Name, waiting.Reason, waiting.Message)
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			text += ", not scheduled: " + condition.Message
		}
	}
	return text + " and not ready"
}

func image(pod *corev1.Pod) string {
	if len(pod.Spec.Containers) == 0 {
		return ""
	}
	return pod.Spec.Containers[0].Image
}
