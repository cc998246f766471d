package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// DeploymentAvailable says whether all replicas of a Deployment are up to date and ready, and else,
// in words, what it is waiting for.
func (c *Cluster) DeploymentAvailable(ctx context.Context, key client.ObjectKey) (done bool, state string, err error) {
	var deployment appsv1.Deployment
	if err := c.Get(ctx, key, &deployment); err != nil {
		return false, "", err
	}
	if rolledOut(&deployment) {
		return true, "", nil
	}
	selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
	if err != nil {
		return false, "", err
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(key.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return false, "", err
	}
	return false, explain(&deployment, pods.Items), nil
}

// AwaitDeployment waits until a Deployment is available.
func (c *Cluster) AwaitDeployment(ctx context.Context, key client.ObjectKey, limit time.Duration) error {
	state := ""
	look := func(ctx context.Context) (done bool, err error) {
		done, state, err = c.DeploymentAvailable(ctx, key)
		return done, err
	}
	if err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, limit, true, look); err != nil {
		return fmt.Errorf("the Deployment %s does not run after %s (%s): %w", key, limit, state, err)
	}
	return nil
}

func rolledOut(deployment *appsv1.Deployment) bool {
	wanted := replicas(deployment)
	status := deployment.Status
	// A Deployment that was scaled to zero has all it wants, and does nothing.
	return wanted > 0 && status.ObservedGeneration >= deployment.Generation &&
		status.UpdatedReplicas == wanted && status.Replicas == wanted &&
		status.AvailableReplicas == wanted
}

func replicas(deployment *appsv1.Deployment) int32 {
	if deployment.Spec.Replicas == nil {
		return 1
	}
	return *deployment.Spec.Replicas
}

func explain(deployment *appsv1.Deployment, pods []corev1.Pod) string {
	state := fmt.Sprintf("%d of %d Pods ready", deployment.Status.AvailableReplicas, replicas(deployment))
	for _, condition := range deployment.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			return state + "; " + condition.Message
		}
	}
	for i := range pods {
		if trouble := PodTrouble(&pods[i]); trouble != "" {
			return fmt.Sprintf("%s; Pod %s: %s", state, pods[i].Name, trouble)
		}
	}
	return state
}

// PodReady says whether a Pod is ready and not on its way out.
func PodReady(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// PodTrouble says what keeps a Pod from running; empty when it is merely on its way.
func PodTrouble(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return words(condition.Reason, condition.Message)
		}
	}
	for _, status := range pod.Status.ContainerStatuses {
		switch waiting, ended := status.State.Waiting, status.State.Terminated; {
		case waiting != nil && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing":
			return words(waiting.Reason, waiting.Message)
		case ended != nil && ended.ExitCode != 0:
			return words(fmt.Sprintf("%s, exit code %d", ended.Reason, ended.ExitCode), ended.Message)
		}
	}
	return ""
}

func words(reason, message string) string {
	return strings.TrimSuffix(strings.TrimSpace(reason+": "+message), ":")
}
