//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/prober"
)

// With NETWORK_POLICIES=true the devcluster enforces them, and the operator has its own: whatever a scenario finds then, it
// finds with an operator that reaches no more than config/network-policy admits.
func enforcesNetworkPolicies(t *testing.T) {
	t.Helper()
	if os.Getenv("NETWORK_POLICIES") != "true" {
		t.Skip("nothing enforces NetworkPolicies here, unless it is make e2e NETWORK_POLICIES=true")
	}
}

// TestTheResponderAnswersWhereIngressIsDenied is what docs/responder.md says of its policy, and the doctor of any policy.
func TestTheResponderAnswersWhereIngressIsDenied(t *testing.T) {
	enforcesNetworkPolicies(t)
	t.Parallel()
	w := newWorld(t)
	shop := w.service("shop").withPage()
	shop.standsIn(thePage)
	asking := w.asks("client", shop.url())
	w.Eventually(asking.answered).Should(BeTrue(), "before there is a policy")

	w.create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "deny-all"}})
	w.Eventually(asking.answered).Should(BeFalse(), "ingress is denied")
	shop.finds("network-policy", problem, "NetworkPolicy deny-all allows no connection")

	w.apply("../../../config/network-policy/responder/responder.yaml")
	w.Eventually(asking.answered).Should(BeTrue(), "the responder's policy admits clients")
	shop.finds("network-policy", ok, "no NetworkPolicy")
	w.Consistently(asking.answered).Should(BeTrue())
}

// TestTheOperatorsPolicyAdmitsWhatItNeedsAndNoMore lets another Pod try what the policy says of egress. That it is enough for
// the operator is what all scenarios show.
func TestTheOperatorsPolicyAdmitsWhatItNeedsAndNoMore(t *testing.T) {
	enforcesNetworkPolicies(t)
	t.Parallel()
	w := newWorld(t)
	w.deployment("shop")
	shop := w.service("shop")
	shop.answeredBy("shop")
	var server corev1.Service
	w.Expect(w.Get(w.ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}, &server)).To(Succeed())
	const kubelet = 10250
	admitted := map[string]asking{"pods": w.asks("pods", shop.url()), "api-server": w.asks("api-server", urlOf(server.Spec.ClusterIP, 443))}
	left := w.asks("others", urlOf(w.nodeIP(), kubelet))
	for name, asking := range admitted {
		w.Eventually(asking.answered).Should(BeTrue(), name)
	}
	w.Eventually(left.answered).Should(BeTrue(), "the kubelet, before there is a policy")

	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: operator.Name}}
	w.refresh(policy)
	w.create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "egress"}, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: left.pod.Labels},
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}, Egress: policy.Spec.Egress,
	}})
	w.Eventually(left.answered).Should(BeFalse(), "the kubelet, which the policy leaves out")
	for name, asking := range admitted {
		w.Eventually(asking.answered).Should(BeTrue(), name)
		w.Consistently(asking.answered).Should(BeTrue(), name)
	}
}

// asking is a client in a Pod, which policies concern: what the node itself asks is admitted by all plugins.
type asking struct {
	*world
	pod *corev1.Pod
}

// asks makes a client that asks a URL ten times per second.
func (w *world) asks(name, url string) asking {
	w.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: labels{"asks": "yes"}}, Spec: webPod(name)}
	container := &pod.Spec.Containers[0]
	container.Args, container.Ports, container.ReadinessProbe = []string{"probe", "--rate=10", "--timeout=10s", url}, nil, nil
	w.create(pod)
	return asking{world: w, pod: pod}
}

// answered reports whether each of the last requests was answered.
func (a asking) answered(g Gomega) bool {
	const last = 10
	log, err := a.Clientset.CoreV1().Pods(a.namespace).GetLogs(a.pod.Name, &corev1.PodLogOptions{TailLines: new(int64(last))}).DoRaw(a.ctx)
	g.Expect(err).NotTo(HaveOccurred())
	asked, answered := 0, 0
	g.Expect(prober.ReadLines(bytes.NewReader(log), func(r prober.Result) {
		asked++
		if r.Answered() {
			answered++
		}
	})).To(Succeed())
	g.Expect(asked).To(Equal(last))
	g.Expect(answered).To(BeElementOf(0, last), "requests that were answered, of the last %d", last)
	return answered == last
}
