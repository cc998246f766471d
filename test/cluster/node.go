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

	corev1 "k8s.io/api/core/v1"
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
