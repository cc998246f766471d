//go:build e2e

package e2e

import (
	"syscall"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/test/cluster"
)

// Scenarios that stop the operator disturb all others: they must not be parallel.

// stopOperator scales the operator to nothing; start brings it back, at the latest when the scenario ends.
func (w *world) stopOperator() (start func()) {
	w.t.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: operatorName}}
	before := w.replicas(deployment)
	w.Expect(before).NotTo(BeZero(), "the operator is stopped already")
	w.scale(deployment, 0)
	start = func() {
		w.t.Helper()
		w.scale(deployment, before)
		w.Expect(operatorRuns(w.ctx)).To(Succeed())
	}
	w.t.Cleanup(start)
	w.Eventually(w.operatorPods).Should(BeEmpty(), "Pods of the operator")
	return start
}

// killOperator kills all replicas of the operator, and waits for the next ones: what another one remembers must not help.
func (w *world) killOperator() {
	w.t.Helper()
	w.Expect(w.KillDeployment(w.ctx, operator, installLimit)).To(Succeed())
	w.Expect(conversionWorks(w.ctx)).To(Succeed())
}

// freezeOperator stops the operator's processes in the middle of what they do. They do not go on: what
// follows is stopOperator, which ends them when their grace period is over.
func (w *world) freezeOperator() {
	w.t.Helper()
	for _, pod := range w.operatorPods(w) {
		// One that was replaced is on its way out.
		if cluster.PodReady(&pod) {
			w.signal(&pod, syscall.SIGSTOP)
		}
	}
}

// changeOperator gives the operator another image, and does not wait for it; restore brings the old one
// back, at the latest when the scenario ends.
func (w *world) changeOperator(image string) (restore func()) {
	w.t.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: operatorName}}
	w.refresh(deployment)
	old := deployment.Spec.Template.Spec.Containers[0].Image
	w.Expect(image).NotTo(Equal(old))
	restore = func() {
		w.t.Helper()
		changeImage(w, deployment, old)
		w.Expect(operatorRuns(w.ctx)).To(Succeed())
	}
	w.t.Cleanup(restore)
	changeImage(w, deployment, image)
	return restore
}

// changeImage gives another image to the Pods of a Deployment of one container.
func changeImage(w *world, deployment *appsv1.Deployment, image string) {
	w.t.Helper()
	change(w, deployment, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image })
}

// operatorProcesses says which processes the operator is: how often the container of each of its Pods was
// restarted. It waits until the operator has its replicas: one that was replaced may be on its way out.
func (w *world) operatorProcesses() map[types.UID]int32 {
	w.t.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: operatorName}}
	wanted := int(w.replicas(deployment))
	var found map[types.UID]int32
	w.Eventually(func(g Gomega) {
		found = map[types.UID]int32{}
		pods := w.operatorPods(g)
		g.Expect(pods).To(HaveLen(wanted))
		for _, pod := range pods {
			g.Expect(pod.Status.ContainerStatuses).To(HaveLen(1))
			found[pod.UID] = pod.Status.ContainerStatuses[0].RestartCount
		}
	}).Should(Succeed(), "Pods of the operator")
	return found
}

func (w *world) operatorPods(g Gomega) []corev1.Pod {
	pods, err := w.PodsOf(w.ctx, operator)
	g.Expect(err).NotTo(HaveOccurred())
	return pods
}
