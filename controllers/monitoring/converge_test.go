package monitoring_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/write"
	"github.com/critical-service/operator/test/testenv"
)

// The same story is lived again and again; each time another write of the operator goes wrong, or is its last. Every scene
// must be reached and the end must be the same.
func TestTheEndIsTheSameWhicheverWriteGoesWrong(t *testing.T) {
	testenv.WhicheverWriteGoesWrong(t, 12, lived)
}

// The same story is lived by operators that see the cluster as it was, in another order, or with gaps.
func TestTheEndIsTheSameHoweverItIsSeen(t *testing.T) { testenv.HoweverItIsSeen(t, lived) }

func lived(t *testing.T, fate *testenv.Fate) string {
	t.Helper()
	return newWorld(t).live(fate)
}

// live lives one story, of objects that come with a policy, are changed and deleted by a user, go, and come again, and describes
// the end.
func (w *world) live(fate *testenv.Fate) string {
	w.T.Helper()
	w.installPrometheusOperator()
	policy := w.platform()
	w.record(fate)
	w.startWith(nil, fate.Befall)
	replace := func() { w.operator.Stop(w.T); w.startWith(nil, fate.Follow) }
	fate.Succeed(w.T, replace)

	w.Eventually(w.there).Should(Equal(all))
	w.patch(w.now("PrometheusRule"), `{"spec":{"groups":[]}}`)
	wanted := w.object("PrometheusRule").Object["spec"]
	w.Eventually(func() any { return w.now("PrometheusRule").Object["spec"] }).Should(Equal(wanted))
	w.Delete(w.now("ServiceMonitor"))
	w.Eventually(w.there).Should(Equal(all))
	w.Delete(policy)
	w.Eventually(w.there).Should(BeEmpty())
	w.platform()
	w.Eventually(w.there).Should(Equal(all))

	fate.AwaitRest(w.World, replace, func() *testenv.Operator { w.rounds(2); return w.operator })
	end := ""
	for _, kind := range all {
		content, err := (&unstructured.Unstructured{Object: map[string]any{"kind": kind, "spec": w.now(kind).Object["spec"]}}).MarshalJSON()
		w.Expect(err).NotTo(HaveOccurred())
		end += string(content)
	}
	return end
}

// record watches what the operator keeps in its own namespace.
func (w *world) record(fate *testenv.Fate) {
	w.T.Helper()
	var kinds []client.ObjectList
	for _, kind := range all {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(w.object(kind).GroupVersionKind())
		kinds = append(kinds, list)
	}
	own := &testenv.World{WithT: w.WithT, T: w.T, Cluster: w.Cluster, Namespace: testenv.OperatorNamespace}
	fate.Record(own, testenv.Laws{Manager: write.FieldManager, Kept: all}, kinds...)
}
