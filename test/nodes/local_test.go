//go:build e2e

package nodes

import (
	"context"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// docs/consumers.md says who answers under a policy Local. Here the fallback is in truth on another node.
func TestUnderALocalPolicyOnlyTheNodesOfTheFallbackAnswer(t *testing.T) {
	w := newWorld(t)
	w.only(first, second)
	inside := w.service("inside", func(s *corev1.Service) {
		s.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
	})
	outside := w.service("outside", func(s *corev1.Service) {
		s.Spec.Type, s.Spec.ExternalTrafficPolicy = corev1.ServiceTypeLoadBalancer, corev1.ServiceExternalTrafficPolicyLocal
	})
	policy := w.protect()
	w.Eventually(func(g Gomega) []string { return w.nodesOf(g, w.responders(g)) }).Should(Equal([]string{first, second}), "spread")
	for _, service := range []*corev1.Service{inside, outside} {
		w.Eventually(w.state(policy, service)).Should(Equal(criticalv2.StateCovered))
	}
	clusterIP := net.JoinHostPort(inside.Spec.ClusterIP, "80")
	nodePort := func(node string) string { return w.portOf(node, outside.Spec.Ports[0].NodePort) }
	health := func(node string) string { return w.portOf(node, outside.Spec.HealthCheckNodePort) }

	for name, tc := range map[string]struct {
		client, address string
		want            string
	}{
		"internal, on the first node of the fallback":        {first, clusterIP, thePage},
		"internal, on the second":                            {second, clusterIP, thePage},
		"internal, on a node without it":                     {third, clusterIP, ""},
		"external, by the node of the fallback":              {first, nodePort(second), thePage},
		"external, by a node without it":                     {first, nodePort(third), ""},
		"external, from the node itself, which has it not":   {third, nodePort(third), thePage},
		"external by ClusterIP, on a node without it":        {third, net.JoinHostPort(outside.Spec.ClusterIP, "80"), thePage},
		"health check, of the node of the promoted fallback": {first, health(second), "localEndpoints\": 1"},
		"health check, of a node without it":                 {first, health(third), "localEndpoints\": 0"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Eventually(func() []string { return w.tenTimes(tc.client, tc.address, tc.want) }).Should(HaveLen(10))
		})
	}
}

// portOf is a port of a node.
func (w *world) portOf(name string, port int32) string {
	w.t.Helper()
	var node corev1.Node
	w.Expect(w.Get(w.ctx, client.ObjectKey{Name: name}, &node)).To(Succeed())
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return net.JoinHostPort(address.Address, strconv.Itoa(int(port)))
		}
	}
	w.t.Fatalf("node %s has no internal address", name)
	return ""
}

// tenTimes asks from a node, and returns the answers that are as wanted. Nothing is wanted where no one answers.
func (w *world) tenTimes(node, address, want string) []string {
	if want == thePage {
		want = sentence
	}
	var found []string
	for range 10 {
		output, err := exec.CommandContext(context.WithoutCancel(w.ctx), devcluster, "node", "exec", node, "--",
			"curl", "--silent", "--max-time", "1", "http://"+address+"/").Output()
		if want == "" && err != nil || want != "" && strings.Contains(string(output), want) {
			found = append(found, node)
		}
	}
	return found
}
