//go:build e2e

package nodes

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The nodes of the devcluster. The first is the machine itself.
const first, second, third = "node1", "node2", "node3"

// only lets new Pods get to these nodes, until the scenario ends.
func (w *world) only(nodes ...string) {
	w.t.Helper()
	for _, name := range []string{first, second, third} {
		w.Expect(w.cordon(name, !slices.Contains(nodes, name))).To(Succeed())
	}
	w.t.Cleanup(func() {
		for _, name := range []string{first, second, third} {
			w.Expect(w.cordon(name, false)).To(Succeed())
		}
	})
}

func (w *world) cordon(name string, cordoned bool) error {
	node := &corev1.Node{}
	node.Name = name
	return w.Patch(w.ctx, node, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, cordoned)))
}

// lose cuts the power of a node, and switches it on again at the latest when the scenario ends.
func (w *world) lose(name string) (at time.Time) {
	w.t.Helper()
	w.t.Cleanup(w.switchOn)
	at = time.Now()
	w.run(devcluster, "node", "cut", name)
	return at
}

// switchOn brings lost nodes back, and waits until the whole cluster and the operator are well.
func (w *world) switchOn() {
	w.t.Helper()
	w.run(devcluster, "up")
	w.Expect(w.AwaitDeployment(w.ctx, operator, soon)).To(Succeed())
}

func (w *world) run(program string, args ...string) string {
	w.t.Helper()
	output, err := exec.CommandContext(w.ctx, program, args...).CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), "%s %s: %s", program, strings.Join(args, " "), output)
	return string(output)
}

// leader is the operator's Pod that leads, and its node.
func (w *world) leader() (pod, node string) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		var lease coordinationv1.Lease
		g.Expect(w.Get(w.ctx, operator, &lease)).To(Succeed())
		g.Expect(lease.Spec.HolderIdentity).NotTo(BeNil())
		pods, err := w.PodsOf(w.ctx, operator)
		g.Expect(err).NotTo(HaveOccurred())
		i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Name == *lease.Spec.HolderIdentity })
		g.Expect(i).To(BeNumerically(">=", 0), "a Pod that leads")
		pod, node = pods[i].Name, pods[i].Spec.NodeName
	}).Should(Succeed())
	return pod, node
}
