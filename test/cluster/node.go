package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Processes are the IDs of all processes of a Pod, its sandbox included, found by their cgroup. They can be found only
// on the Pod's node, as root.
func Processes(pod *corev1.Pod) ([]int, error) {
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return nil, err
	}
	uid := string(pod.UID)
	var found []int
	for _, file := range groups {
		// A process may end while they are looked through.
		content, _ := os.ReadFile(file)
		if text := string(content); !strings.Contains(text, uid) && !strings.Contains(text, strings.ReplaceAll(uid, "-", "_")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, err
		}
		found = append(found, pid)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there are no processes of Pod %s: the tests must run on its node, as root", pod.Name)
	}
	return found, nil
}

// Signal sends a signal to all processes of a Pod.
func Signal(pod *corev1.Pod, signal syscall.Signal) error {
	processes, err := Processes(pod)
	if err != nil {
		return err
	}
	for _, pid := range processes {
		// The process of a container may end with its sandbox.
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// Kill ends Pods without a chance to say goodbye: all at once, so that none takes over from another. To delete them without a
// grace period is not enough, as the kubelet then still sends SIGTERM and waits for a second, in which a leader gives up its
// Lease. Those that are on their way out are only deleted: they may have no processes any more.
func (c *Cluster) Kill(ctx context.Context, pods ...corev1.Pod) error {
	for i := range pods {
		isRunning := func(s corev1.ContainerStatus) bool { return s.State.Running != nil }
		if pods[i].DeletionTimestamp != nil || !slices.ContainsFunc(pods[i].Status.ContainerStatuses, isRunning) {
			continue
		}
		if err := Signal(&pods[i], syscall.SIGKILL); err != nil {
			return err
		}
	}
	for i := range pods { // Before the kubelet starts them again.
		if err := client.IgnoreNotFound(c.Delete(ctx, &pods[i], client.GracePeriodSeconds(0))); err != nil {
			return err
		}
	}
	return nil
}

// KillDeployment kills all Pods of a Deployment, so that nothing that one of them remembers helps, and waits until the next
// ones run. The status of the Deployment is not enough for that: it may still count those that are gone.
func (c *Cluster) KillDeployment(ctx context.Context, key client.ObjectKey, limit time.Duration) error {
	old, err := c.PodsOf(ctx, key)
	if err != nil {
		return err
	}
	if len(old) == 0 {
		return fmt.Errorf("the Deployment %s has no Pod that could be killed", key)
	}
	if err := c.Kill(ctx, old...); err != nil {
		return err
	}
	look := func(ctx context.Context) (bool, error) {
		now, err := c.PodsOf(ctx, key)
		return err == nil && areReplaced(old, now), err
	}
	if err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, limit, true, look); err != nil {
		return fmt.Errorf("the Pods of the Deployment %s were killed, and no others are ready after %s: %w", key, limit, err)
	}
	return c.AwaitDeployment(ctx, key, limit)
}

// areReplaced reports whether there are only other Pods than before, which are all ready.
func areReplaced(old, now []corev1.Pod) bool {
	for i := range now {
		isSame := func(pod corev1.Pod) bool { return pod.UID == now[i].UID }
		if slices.ContainsFunc(old, isSame) || !PodReady(&now[i]) {
			return false
		}
	}
	return len(now) > 0
}
