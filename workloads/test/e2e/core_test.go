//go:build e2e

package e2e

import (
	"os"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// TestTheCoreComesAndGoes is not parallel, as it takes the core from all.
func TestTheCoreComesAndGoes(t *testing.T) {
	w := newWorld(t)
	w.coreIsUnused()
	before := w.database("before", workloadsv1.DatabaseMongo).runs()
	client := before.talk()
	client.isAnswered()
	pod, operators := before.pod(), w.processes(workloads)

	// It is removed: the database goes on, and says what is missing.
	w.t.Cleanup(func() {
		w.report()
		w.installCore()
	})
	w.uninstallCore()
	before.is(workloadsv1.ConditionProtected, metav1.ConditionFalse, workloadsv1.ReasonFallbackUnavailable, "install critical-service-operator")
	before.is(workloadsv1.ConditionReady, metav1.ConditionTrue, workloadsv1.ReasonRunning)
	before.keeps(pod)
	w.Expect(client.asks()).To(Equal(fine))

	// One that is made without it runs as well.
	without := w.database("without", workloadsv1.DatabasePostgres)
	without.is(workloadsv1.ConditionReady, metav1.ConditionTrue, workloadsv1.ReasonRunning)
	without.is(workloadsv1.ConditionProtected, metav1.ConditionFalse, workloadsv1.ReasonFallbackUnavailable, "install critical-service-operator")
	without.write("first")
	without.holds("first")
	kept := without.pod()

	// It arrives: both are protected, and no process has been restarted for that.
	w.installCore()
	before.runs()
	without.runs()
	before.keeps(pod)
	without.keeps(kept)
	w.Expect(w.processes(workloads)).To(Equal(operators), "the operator was not restarted")
	without.suspend(true)
	without.is(workloadsv1.ConditionProtected, metav1.ConditionTrue, criticalv2.ReasonFallbackServing)
}

// coreIsUnused keeps the scenario from taking away what protects Services that are in real use. What earlier scenarios
// made is on its way out.
func (w *world) coreIsUnused() {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		var policies criticalv2.CriticalServiceList
		g.Expect(w.List(w.ctx, &policies)).To(Succeed())
		var fallbacks criticalv2.ServiceFallbackList
		g.Expect(w.List(w.ctx, &fallbacks)).To(Succeed())
		g.Expect(policies.Items).To(BeEmpty())
		g.Expect(fallbacks.Items).To(BeEmpty())
	}).Should(Succeed(), "the core is in use: run the tests on a cluster of their own")
}

// coreObjects are what the core consists of. Its namespace stays, as with the tools that install it.
func (w *world) coreObjects() []*unstructured.Unstructured {
	w.t.Helper()
	content, err := os.ReadFile(os.Getenv(coreManifest))
	w.Expect(err).NotTo(HaveOccurred())
	objects, err := cluster.Decode(content)
	w.Expect(err).NotTo(HaveOccurred())
	return slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool { return object.GetKind() == "Namespace" })
}

// uninstallCore deletes it as `kubectl delete -f` does: its kinds with everything of them, and then what runs.
func (w *world) uninstallCore() {
	w.t.Helper()
	objects := w.coreObjects()
	for _, object := range objects {
		w.remove(object)
	}
	for _, object := range objects {
		w.gone(object)
	}
}

func (w *world) installCore() {
	w.t.Helper()
	w.Expect(w.Apply(w.ctx, fieldManager, w.coreObjects()...)).To(Succeed())
	w.Expect(w.AwaitDeployment(w.ctx, core, installLimit)).To(Succeed())
}
