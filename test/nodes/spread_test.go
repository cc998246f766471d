//go:build e2e

package nodes

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// The nodes of the devcluster have no zone, as those of most clusters that no cloud runs.
func TestPodsOfTheOperatorAreOnDifferentNodes(t *testing.T) {
	w := newWorld(t)
	w.only(first, second, third)
	w.placeOperator()
	w.Expect(slices.Compact(w.operatorNodes(w))).To(HaveLen(2))
}

// placeOperator has the operator's Pods placed once more. Those of a rollout may meet on a node: they keep away from the old
// ones, too.
func (w *world) placeOperator() {
	w.t.Helper()
	w.run(kubectl, "--namespace", operator.Namespace, "scale", "deployment/"+operator.Name, "--replicas=0")
	w.Eventually(w.operatorNodes).Should(BeEmpty())
	w.run(kubectl, "--namespace", operator.Namespace, "scale", "deployment/"+operator.Name, "--replicas=2")
	w.Expect(w.AwaitDeployment(w.ctx, operator, soon)).To(Succeed())
}

// operatorNodes are the nodes of the operator's Pods.
func (w *world) operatorNodes(g Gomega) []string {
	pods, err := w.PodsOf(w.ctx, operator)
	g.Expect(err).NotTo(HaveOccurred())
	pods = slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return pod.Spec.NodeName == "" })
	return w.nodesOf(g, pods)
}
