//go:build e2e

package e2e

import (
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Scenarios that stop the operator disturb all others: they must not be parallel.

// stopOperator scales the operator to nothing; start brings it back, at the latest when the scenario ends.
func (w *world) stopOperator() (start func()) {
	w.t.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: operatorName}}
	w.scale(deployment, 0)
	start = func() {
		w.t.Helper()
		w.scale(deployment, 1)
		w.Expect(operatorRuns(w.ctx)).To(Succeed())
	}
	w.t.Cleanup(start)
	w.Eventually(w.operatorPods).Should(BeEmpty(), "Pods of the operator")
	return start
}

// killOperator ends the operator's process without a chance to say goodbye, and waits for the next one.
func (w *world) killOperator() {
	w.t.Helper()
	old := w.operatorPods(w)
	w.Expect(old).To(HaveLen(1))
	w.Expect(w.Delete(w.ctx, &old[0], client.GracePeriodSeconds(0))).To(Succeed())
	w.Eventually(w.operatorPods).ShouldNot(ContainElement(HaveField("UID", old[0].UID)))
	w.Expect(operatorRuns(w.ctx)).To(Succeed())
}

func (w *world) operatorPods(g Gomega) []corev1.Pod {
	var deployment appsv1.Deployment
	g.Expect(w.Get(w.ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}, &deployment)).To(Succeed())
	var pods corev1.PodList
	g.Expect(w.List(w.ctx, &pods, client.InNamespace(operatorNamespace),
		client.MatchingLabels(deployment.Spec.Selector.MatchLabels))).To(Succeed())
	return pods.Items
}
