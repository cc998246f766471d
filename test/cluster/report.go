package cluster

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// logLines is how much of an operator's log is shown: its last lines about a namespace.
	logLines = 80
	// endedLines is how much is shown of what a container wrote before it ended.
	endedLines int64 = 10
)

// Report describes a namespace for people who look for the cause of a failure: its Pods, EndpointSlices, and events
// since a time. What cannot be read is said in its place.
func (c *Cluster) Report(ctx context.Context, namespace string, since time.Time) string {
	text := &strings.Builder{}
	for _, part := range []struct {
		title string
		write func(context.Context, *strings.Builder) error
	}{
		{"Pods in " + namespace, func(ctx context.Context, to *strings.Builder) error { return c.writePods(ctx, to, namespace) }},
		{"EndpointSlices in " + namespace, func(ctx context.Context, to *strings.Builder) error { return c.writeSlices(ctx, to, namespace) }},
		{"events in " + namespace + " and of objects without a namespace", func(ctx context.Context, to *strings.Builder) error {
			return c.writeEvents(ctx, to, namespace, since)
		}},
	} {
		_, _ = fmt.Fprintf(text, "%s:\n", part.title)
		if err := part.write(ctx, text); err != nil {
			_, _ = fmt.Fprintf(text, "  cannot be read: %v\n", err)
		}
	}
	return text.String()
}

func (c *Cluster) writePods(ctx context.Context, to *strings.Builder, namespace string) error {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		owner := "no one"
		if ref := metav1.GetControllerOf(pod); ref != nil {
			owner = ref.Kind + " " + ref.Name
		}
		_, _ = fmt.Fprintf(to, "  %s  phase %s, ready %t, deleted %t, owner %s, labels %v %s\n", pod.Name, pod.Status.Phase,
			PodReady(pod), pod.DeletionTimestamp != nil, owner, pod.Labels, PodTrouble(pod))
		c.writeEnded(ctx, to, pod)
	}
	return nil
}

// writeEnded writes the last lines of containers that ended and were started again.
func (c *Cluster) writeEnded(ctx context.Context, to *strings.Builder, pod *corev1.Pod) {
	for _, status := range pod.Status.ContainerStatuses {
		ended := status.LastTerminationState.Terminated
		if ended == nil {
			continue
		}
		log, err := c.Clientset.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name,
			&corev1.PodLogOptions{Container: status.Name, Previous: true, TailLines: new(endedLines)}).DoRaw(ctx)
		_, _ = fmt.Fprintf(to, "    container %s started %d times, its last exit code is %d (log: error %v):\n%s\n", status.Name, status.RestartCount+1, ended.ExitCode, err, log)
	}
}

func (c *Cluster) writeSlices(ctx context.Context, to *strings.Builder, namespace string) error {
	var endpoints discoveryv1.EndpointSliceList
	if err := c.List(ctx, &endpoints, client.InNamespace(namespace)); err != nil {
		return err
	}
	for _, slice := range endpoints.Items {
		_, _ = fmt.Fprintf(to, "  %s of Service %s\n", slice.Name, slice.Labels[discoveryv1.LabelServiceName])
		for _, endpoint := range slice.Endpoints {
			conditions := endpoint.Conditions
			_, _ = fmt.Fprintf(to, "    %v ready %t, serving %t, terminating %t\n", endpoint.Addresses,
				ptr.Deref(conditions.Ready, true), ptr.Deref(conditions.Serving, true), ptr.Deref(conditions.Terminating, false))
		}
	}
	return nil
}

func (c *Cluster) writeEvents(ctx context.Context, to *strings.Builder, namespace string, since time.Time) error {
	events, err := c.Events(ctx, namespace)
	if err != nil {
		return err
	}
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return eventTime(a).Compare(eventTime(b)) })
	for _, event := range events {
		if eventTime(event).Before(since.Truncate(time.Second)) {
			continue
		}
		_, _ = fmt.Fprintf(to, "  %s  %s %s  %s/%s: %s\n", eventTime(event).Format(time.TimeOnly), event.Type, event.Reason,
			event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Message)
	}
	return nil
}

// Events are those of a namespace, and those about objects without one.
func (c *Cluster) Events(ctx context.Context, namespace string) ([]corev1.Event, error) {
	var found []corev1.Event
	for _, from := range slices.Compact([]string{namespace, metav1.NamespaceDefault}) {
		var list corev1.EventList
		if err := c.List(ctx, &list, client.InNamespace(from)); err != nil {
			return nil, err
		}
		for _, event := range list.Items {
			if from == namespace || event.InvolvedObject.Namespace == "" {
				found = append(found, event)
			}
		}
	}
	return found, nil
}

func eventTime(event corev1.Event) time.Time {
	if event.EventTime.IsZero() {
		return event.LastTimestamp.Time
	}
	return event.EventTime.Time
}

// PodsOf are the Pods of a Deployment, also those that are on their way out.
func (c *Cluster) PodsOf(ctx context.Context, deployment client.ObjectKey) ([]corev1.Pod, error) {
	var found appsv1.Deployment
	if err := c.Get(ctx, deployment, &found); err != nil {
		return nil, err
	}
	var pods corev1.PodList
	err := c.List(ctx, &pods, client.InNamespace(deployment.Namespace), client.MatchingLabels(found.Spec.Selector.MatchLabels))
	return pods.Items, err
}

// Log shows what the Pods of a Deployment have written about a namespace since a time, and their errors. What cannot
// be read is said in its place.
func (c *Cluster) Log(ctx context.Context, deployment client.ObjectKey, namespace string, since time.Time) string {
	pods, err := c.PodsOf(ctx, deployment)
	if err != nil {
		return fmt.Sprintf("no log of %s: %v\n", deployment.Name, err)
	}
	text := &strings.Builder{}
	for i := range pods {
		log, err := c.Clientset.CoreV1().Pods(deployment.Namespace).GetLogs(pods[i].Name,
			&corev1.PodLogOptions{SinceTime: &metav1.Time{Time: since}}).DoRaw(ctx)
		if err != nil {
			_, _ = fmt.Fprintf(text, "no log of Pod %s: %v\n", pods[i].Name, err)
			continue
		}
		_, _ = fmt.Fprintf(text, "log of Pod %s, lines about %s:\n", pods[i].Name, namespace)
		for _, line := range linesAbout(log, namespace) {
			_, _ = fmt.Fprintf(text, "  %s\n", line)
		}
	}
	return text.String()
}

func linesAbout(log []byte, namespace string) []string {
	var lines []string
	for scanner := bufio.NewScanner(bytes.NewReader(log)); scanner.Scan(); {
		if line := scanner.Text(); strings.Contains(line, namespace) || strings.Contains(line, `"level":"error"`) {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-logLines):]
}
