//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
)

// operatorLines is how much of the operator's log is shown: its last lines about the scenario.
const operatorLines = 40

// reportFailure shows the world as it was when the scenario failed. It must be called before the
// scenario makes objects, and after its namespace was made: clean-ups run in the opposite order.
func (w *world) reportFailure() {
	w.t.Cleanup(func() {
		if !w.t.Failed() {
			return
		}
		// A failure while reporting must not hide the failure that is reported.
		g := NewGomega(func(message string, _ ...int) { w.t.Log(message) })
		for _, part := range []func(Gomega) string{w.policiesText, w.podsText, w.slicesText, w.eventsText, w.operatorLog} {
			w.t.Log(part(g))
		}
	})
}

func (w *world) policiesText(g Gomega) string {
	var policies criticalv2.CriticalServiceList
	g.Expect(w.List(w.ctx, &policies)).To(Succeed())
	text := &strings.Builder{}
	for _, policy := range policies.Items {
		if !w.concerns(&policy) {
			continue
		}
		status, err := yaml.Marshal(policy.Status)
		g.Expect(err).NotTo(HaveOccurred())
		_, _ = fmt.Fprintf(text, "status of CriticalService %s:\n%s", policy.Name, indent(status))
	}
	return text.String()
}

func (w *world) concerns(policy *criticalv2.CriticalService) bool {
	return slices.Contains(policy.Spec.Namespaces, w.namespace) || strings.HasPrefix(policy.Name, w.namespace) ||
		slices.ContainsFunc(policy.Status.Details, func(d criticalv2.ServiceStatus) bool { return d.Namespace == w.namespace })
}

func (w *world) podsText(g Gomega) string {
	var pods corev1.PodList
	g.Expect(w.List(w.ctx, &pods, client.InNamespace(w.namespace))).To(Succeed())
	text := &strings.Builder{}
	_, _ = fmt.Fprintf(text, "Pods in %s:\n", w.namespace)
	for i := range pods.Items {
		pod := &pods.Items[i]
		owner := "no one"
		if ref := metav1.GetControllerOf(pod); ref != nil {
			owner = ref.Kind + " " + ref.Name
		}
		_, _ = fmt.Fprintf(text, "  %s  phase %s, ready %t, deleted %t, owner %s, labels %v %s\n", pod.Name, pod.Status.Phase,
			cluster.PodReady(pod), pod.DeletionTimestamp != nil, owner, pod.Labels, cluster.PodTrouble(pod))
	}
	return text.String()
}

func (w *world) slicesText(g Gomega) string {
	var endpoints discoveryv1.EndpointSliceList
	g.Expect(w.List(w.ctx, &endpoints, client.InNamespace(w.namespace))).To(Succeed())
	text := &strings.Builder{}
	_, _ = fmt.Fprintf(text, "EndpointSlices in %s:\n", w.namespace)
	for _, slice := range endpoints.Items {
		_, _ = fmt.Fprintf(text, "  %s of Service %s\n", slice.Name, slice.Labels[discoveryv1.LabelServiceName])
		for _, endpoint := range slice.Endpoints {
			conditions := endpoint.Conditions
			_, _ = fmt.Fprintf(text, "    %v ready %t, serving %t, terminating %t\n", endpoint.Addresses,
				ptr.Deref(conditions.Ready, true), ptr.Deref(conditions.Serving, true), ptr.Deref(conditions.Terminating, false))
		}
	}
	return text.String()
}

func (w *world) eventsText(g Gomega) string {
	events := w.events(g)
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return eventTime(a).Compare(eventTime(b)) })
	text := &strings.Builder{}
	_, _ = fmt.Fprintf(text, "events in %s and of objects without a namespace:\n", w.namespace)
	for _, event := range events {
		if eventTime(event).Before(w.began.Truncate(time.Second)) {
			continue
		}
		_, _ = fmt.Fprintf(text, "  %s  %s %s  %s/%s: %s\n", eventTime(event).Format(time.TimeOnly), event.Type, event.Reason,
			event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Message)
	}
	return text.String()
}

func eventTime(event corev1.Event) time.Time {
	if event.EventTime.IsZero() {
		return event.LastTimestamp.Time
	}
	return event.EventTime.Time
}

// operatorLog shows the operator's lines about the scenario's namespace.
func (w *world) operatorLog(g Gomega) string {
	text := &strings.Builder{}
	for _, pod := range w.operatorPods(g) {
		log, err := w.Clientset.CoreV1().Pods(operatorNamespace).GetLogs(pod.Name,
			&corev1.PodLogOptions{SinceTime: &metav1.Time{Time: w.began}}).DoRaw(w.ctx)
		if err != nil {
			_, _ = fmt.Fprintf(text, "no log of the operator: %v\n", err)
			continue
		}
		var lines []string
		for scanner := bufio.NewScanner(bytes.NewReader(log)); scanner.Scan(); {
			if line := scanner.Text(); strings.Contains(line, w.namespace) || strings.Contains(line, `"level":"error"`) {
				lines = append(lines, line)
			}
		}
		lines = lines[max(0, len(lines)-operatorLines):]
		_, _ = fmt.Fprintf(text, "log of the operator (%s), lines about %s:\n%s", pod.Name, w.namespace, indent([]byte(strings.Join(lines, "\n"))))
	}
	return text.String()
}

func indent(text []byte) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(string(text), "\n"), "\n", "\n  ") + "\n"
}
