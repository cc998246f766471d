//go:build e2e

package nodes

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
	"github.com/critical-service/operator/test/prober"
)

// What holds of any outage holds here: Kubernetes must first notice, and then no request is lost.
func TestThePageAnswersForAnApplicationWhoseNodeIsLost(t *testing.T) {
	w := newWorld(t)
	w.only(first, third)
	shop := w.service("shop")
	app := w.application("shop", 1, second)
	policy := w.protect()
	w.Eventually(w.state(policy, shop)).Should(Equal(criticalv2.StateArmed))
	clients := w.ask(shop, prober.LowPorts)
	w.answeredBy(clients, "shop")

	cut := w.lose(second)
	w.Eventually(func(g Gomega) {
		pods, err := w.PodsOf(w.ctx, client.ObjectKeyFromObject(app))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pods).To(HaveEach(Not(Satisfy(ready))))
	}).Should(Succeed(), "Kubernetes notices")
	noticed := time.Now()
	w.Eventually(w.state(policy, shop)).Should(Equal(criticalv2.StateCovered))
	t.Logf("Pods not ready %s after the cut, Covered %s after it", noticed.Sub(cut).Round(time.Second), time.Since(cut).Round(time.Second))
	clients.stop()
	t.Logf("until then: %s", missed(clients, cut))
	clients = w.ask(shop, prober.HighPorts)
	answered := w.takenOver(clients)

	back := time.Now()
	w.switchOn()
	w.answeredBy(clients, "shop")
	t.Logf("the application is back after %s; since the page answered: %s", time.Since(back).Round(time.Second), missed(clients, answered))
	w.Expect(clients.unanswered(answered)).To(BeEmpty(), "while the page stands in, and the node comes back")
	w.Eventually(w.state(policy, shop)).Should(Equal(criticalv2.StateArmed))
}

func ready(pod corev1.Pod) bool { return cluster.PodReady(&pod) }

func TestAResponderOnAnotherNodeAnswersWhenOneIsLost(t *testing.T) {
	w := newWorld(t)
	w.only(first, second)
	shop := w.service("shop")
	policy := w.protect()
	w.Eventually(func(g Gomega) []string { return w.nodesOf(g, w.responders(g)) }).Should(Equal([]string{first, second}), "spread")
	w.only(first, second, third)
	w.Eventually(w.state(policy, shop)).Should(Equal(criticalv2.StateCovered))
	clients := w.ask(shop, prober.LowPorts)
	w.answeredBy(clients, thePage)
	var before []string
	w.Eventually(func(g Gomega) {
		before = w.standbys(g, shop)
		g.Expect(before).To(HaveLen(2))
	}).Should(Succeed())
	lostOne := w.addressOn(second)

	cut := w.lose(second)
	w.Eventually(w.standbys).WithArguments(shop).ShouldNot(ContainElement(lostOne), "the lost address is withdrawn")
	t.Logf("the lost address was withdrawn %s after the cut", time.Since(cut).Round(time.Second))
	clients.stop()
	t.Logf("until then: %s", missed(clients, cut))
	clients = w.ask(shop, prober.HighPorts)
	answered := w.takenOver(clients)
	w.Eventually(func(g Gomega) []string { return w.nodesOf(g, w.responders(g)) }).Should(Equal([]string{first, third}), "the lost Pod is replaced")
	t.Logf("a new one answers on %s %s after the cut", third, time.Since(cut).Round(time.Second))
	w.Eventually(w.standbys).WithArguments(shop).Should(HaveLen(2))

	w.switchOn()
	w.answeredBy(clients, thePage)
	t.Logf("while the lost Pod is replaced, and the node comes back: %s", missed(clients, answered))
	w.Expect(clients.unanswered(answered)).To(BeEmpty())
}

// addressOn is that of the responder on a node.
func (w *world) addressOn(node string) string {
	w.t.Helper()
	for _, pod := range w.responders(w) {
		if pod.Spec.NodeName == node {
			return pod.Status.PodIP
		}
	}
	w.t.Fatalf("no responder is on %s", node)
	return ""
}

func TestTheNextOperatorActsWhenTheNodeOfTheLeaderIsLost(t *testing.T) {
	w := newWorld(t)
	w.only(second, third)
	w.placeOperator()
	w.Eventually(w.operatorNodes).Should(Equal([]string{second, third}), "spread")
	shop := w.service("shop")
	app := w.application("shop", 1, first)
	w.only(first)
	policy := w.protect()
	w.Eventually(w.state(policy, shop)).Should(Equal(criticalv2.StateArmed))
	clients := w.ask(shop, prober.LowPorts)
	w.answeredBy(clients, "shop")
	before, node := w.leader()

	cut := w.lose(node)
	w.Expect(w.Scale(w.ctx, app, 0)).To(Succeed())
	w.answeredBy(clients, thePage)
	w.Eventually(w.state(policy, shop)).Should(Equal(criticalv2.StateCovered))
	after, _ := w.leader()
	w.Expect(after).NotTo(Equal(before))
	t.Logf("the next operator has reported the outage %s after the cut: %s", time.Since(cut).Round(100*time.Millisecond), missed(clients, cut))
	w.Expect(clients.unanswered(cut)).To(BeEmpty())
}
