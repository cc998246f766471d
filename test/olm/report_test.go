//go:build e2e

package olm

import (
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
)

// logLines is how much is shown of each log.
const logLines = int64(40)

// reportFailure shows the world as it was when the story failed.
func (w *world) reportFailure() {
	if !w.t.Failed() {
		return
	}
	// A failure while reporting must not hide the failure that is reported.
	g := NewGomega(func(message string, _ ...int) { w.t.Log(message) })
	for _, part := range []func(Gomega) string{w.managerText, w.extensionsText, w.definitionText, w.policiesText, w.podsText, w.eventsText, w.logs} {
		w.t.Log(part(g))
	}
	w.t.Logf("What has failed, once more, as where output is cut its end is kept:\n%s", w.failure)
}

// managerText is what OLM says of catalog, Subscription, plans and versions.
func (w *world) managerText(g Gomega) string {
	text := &strings.Builder{}
	lists := map[string]client.ObjectList{
		"CatalogSources": &v1alpha1.CatalogSourceList{}, "Subscriptions": &v1alpha1.SubscriptionList{},
		"InstallPlans": &v1alpha1.InstallPlanList{}, "ClusterServiceVersions": &v1alpha1.ClusterServiceVersionList{},
	}
	for _, list := range lists {
		g.Expect(w.List(w.ctx, list, client.InNamespace(w.operator))).To(Succeed())
	}
	for _, c := range lists["CatalogSources"].(*v1alpha1.CatalogSourceList).Items {
		write(text, "CatalogSource "+c.Name+", "+c.Spec.Image, c.Status.GRPCConnectionState, c.Status.Message)
	}
	for _, s := range lists["Subscriptions"].(*v1alpha1.SubscriptionList).Items {
		write(text, "Subscription "+s.Name, s.Status.State, s.Status.CurrentCSV, s.Status.Conditions)
	}
	for _, p := range lists["InstallPlans"].(*v1alpha1.InstallPlanList).Items {
		write(text, "InstallPlan "+p.Name, p.Spec.ClusterServiceVersionNames, p.Status.Phase, p.Status.Message, p.Status.Conditions)
	}
	for _, v := range lists["ClusterServiceVersions"].(*v1alpha1.ClusterServiceVersionList).Items {
		write(text, "ClusterServiceVersion "+v.Name, v.Status.Phase, v.Status.Reason, v.Status.Message)
		for _, requirement := range v.Status.RequirementStatus {
			if requirement.Status != v1alpha1.RequirementStatusReasonPresent {
				write(text, "  requires", requirement)
			}
		}
	}
	return text.String()
}

func write(text *strings.Builder, what string, facts ...any) {
	data, err := yaml.Marshal(facts)
	if err != nil {
		data = []byte(err.Error())
	}
	_, _ = fmt.Fprintf(text, "%s:\n%s", what, indent(string(data)))
}

func (w *world) definitionText(Gomega) string {
	crd := customResources()
	if err := w.Get(w.ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
		return fmt.Sprintf("no definition of CriticalServices: %v", err)
	}
	text := &strings.Builder{}
	write(text, "definition of CriticalServices", crd.Status.StoredVersions, crd.Spec.Conversion, crd.Status.Conditions)
	return text.String()
}

func (w *world) policiesText(Gomega) string {
	var policies criticalv2.CriticalServiceList
	if err := w.List(w.ctx, &policies); err != nil {
		return fmt.Sprintf("CriticalServices cannot be read: %v", err)
	}
	text := &strings.Builder{}
	for _, policy := range policies.Items {
		write(text, "CriticalService "+policy.Name, policy.Status)
	}
	return text.String()
}

func (w *world) podsText(g Gomega) string {
	text := &strings.Builder{}
	for _, namespace := range []string{w.operator, w.shops} {
		var pods corev1.PodList
		g.Expect(w.List(w.ctx, &pods, client.InNamespace(namespace))).To(Succeed())
		for i := range pods.Items {
			pod := &pods.Items[i]
			_, _ = fmt.Fprintf(text, "Pod %s/%s  phase %s, ready %t, deleted %t  %s\n", namespace, pod.Name, pod.Status.Phase,
				cluster.PodReady(pod), pod.DeletionTimestamp != nil, cluster.PodTrouble(pod))
		}
	}
	return text.String()
}

func (w *world) eventsText(g Gomega) string {
	text := &strings.Builder{}
	for _, namespace := range []string{w.operator, w.shops} {
		var events corev1.EventList
		g.Expect(w.List(w.ctx, &events, client.InNamespace(namespace))).To(Succeed())
		slices.SortStableFunc(events.Items, func(a, b corev1.Event) int { return moment(a).Compare(moment(b)) })
		_, _ = fmt.Fprintf(text, "events in %s:\n", namespace)
		for _, event := range events.Items {
			_, _ = fmt.Fprintf(text, "  %s  %s %s  %s/%s: %s\n", moment(event).Format(time.TimeOnly), event.Type, event.Reason,
				event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Message)
		}
	}
	return text.String()
}

func moment(event corev1.Event) time.Time {
	if event.EventTime.IsZero() {
		return event.LastTimestamp.Time
	}
	return event.EventTime.Time
}

// logs shows the last lines of the operator and of OLM.
func (w *world) logs(g Gomega) string {
	text := &strings.Builder{}
	for _, namespace := range []string{w.operator, "olm"} {
		var pods corev1.PodList
		g.Expect(w.List(w.ctx, &pods, client.InNamespace(namespace))).To(Succeed())
		for _, pod := range pods.Items {
			log, err := w.Clientset.CoreV1().Pods(namespace).GetLogs(pod.Name,
				&corev1.PodLogOptions{TailLines: new(logLines)}).DoRaw(w.ctx)
			if err != nil {
				log = []byte(err.Error())
			}
			_, _ = fmt.Fprintf(text, "log of Pod %s/%s:\n%s", namespace, pod.Name, indent(string(log)))
		}
	}
	return text.String()
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}
