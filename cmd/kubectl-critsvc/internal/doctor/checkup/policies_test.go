package checkup

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
)

func TestWhoMayReachAPort(t *testing.T) {
	policy := func(name string, rules ...networkingv1.NetworkPolicyIngressRule) networkingv1.NetworkPolicy {
		return networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.NetworkPolicySpec{Ingress: rules}}
	}
	selecting := func(app string, policy networkingv1.NetworkPolicy) networkingv1.NetworkPolicy {
		policy.Spec.PodSelector.MatchLabels = map[string]string{"app": app}
		return policy
	}
	all := networkingv1.NetworkPolicyIngressRule{}
	friends := networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}
	addresses := func(cidr string, except ...string) networkingv1.NetworkPolicyIngressRule {
		return networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: cidr, Except: except}}}}
	}
	at := func(port intstr.IntOrString, end ...int32) networkingv1.NetworkPolicyIngressRule {
		p := networkingv1.NetworkPolicyPort{Port: &port}
		if len(end) > 0 {
			p.EndPort = &end[0]
		}
		return networkingv1.NetworkPolicyIngressRule{Ports: []networkingv1.NetworkPolicyPort{p}}
	}
	egress := policy("out")
	egress.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}
	both := policy("both")
	both.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	udp := at(intstr.FromInt32(8080))
	udp.Ports[0].Protocol = new(corev1.ProtocolUDP)
	anyTCP := networkingv1.NetworkPolicyIngressRule{Ports: []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP)}}}

	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "page"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}}}}},
	}
	type policies = []networkingv1.NetworkPolicy
	for sentence, test := range map[string]struct {
		policies policies
		want     Reach
		by       []string
	}{
		"without a policy, all":                             {nil, Open, nil},
		"a policy for other Pods changes nothing":           {policies{selecting("shop", policy("deny"))}, Open, nil},
		"a policy of egress changes nothing":                {policies{egress}, Open, nil},
		"a policy without rules admits none":                {policies{policy("deny")}, Closed, []string{"deny"}},
		"so does one of both kinds":                         {policies{both}, Closed, []string{"both"}},
		"a rule without peers admits all":                   {policies{policy("allow", all)}, Open, []string{"allow"}},
		"a rule with peers lets these in":                   {policies{policy("some", friends)}, Restricted, []string{"some"}},
		"the rules of all policies add up":                  {policies{policy("deny"), selecting("page", policy("allow", all))}, Open, []string{"allow", "deny"}},
		"some are not all, whatever the order":              {policies{policy("some", friends), policy("deny")}, Restricted, []string{"deny", "some"}},
		"all addresses are all":                             {policies{policy("net", addresses("0.0.0.0/0"))}, Open, []string{"net"}},
		"all addresses but some are not":                    {policies{policy("net", addresses("0.0.0.0/0", "10.0.0.0/8"))}, Restricted, []string{"net"}},
		"a network is not all":                              {policies{policy("net", addresses("10.0.0.0/8"))}, Restricted, []string{"net"}},
		"a rule for the port's number":                      {policies{policy("p", at(intstr.FromInt32(8080)))}, Open, []string{"p"}},
		"a rule for the port's name":                        {policies{policy("p", at(intstr.FromString("web")))}, Open, []string{"p"}},
		"a rule for a name that the Pod does not have":      {policies{policy("p", at(intstr.FromString("api")))}, Closed, []string{"p"}},
		"a rule for another port":                           {policies{policy("p", at(intstr.FromInt32(80)))}, Closed, []string{"p"}},
		"a rule for a range with the port in it":            {policies{policy("p", at(intstr.FromInt32(8000), 8080))}, Open, []string{"p"}},
		"a rule for a range that ends before it":            {policies{policy("p", at(intstr.FromInt32(8000), 8079))}, Closed, []string{"p"}},
		"a rule for UDP":                                    {policies{policy("p", udp)}, Closed, []string{"p"}},
		"a rule for all of TCP":                             {policies{policy("p", anyTCP)}, Open, []string{"p"}},
		"all at one port, some at all ports: the port wins": {policies{policy("p", friends, at(intstr.FromInt32(8080)))}, Open, []string{"p"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			reach, by := ReachOf(test.policies, pod, 8080)
			g.Expect(reach).To(Equal(test.want))
			g.Expect(by).To(Equal(test.by))
		})
	}
}

func TestTheFindingSaysWhatToAllow(t *testing.T) {
	g := NewWithT(t)
	w := good(t)
	home := w.Services[0].Home
	home.NetworkPolicies.Value = []networkingv1.NetworkPolicy{{
		ObjectMeta: metav1.ObjectMeta{Name: "friends"},
		Spec:       networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}}},
	}}
	findings := networkPolicies(w, w.Services[0])
	g.Expect(findings).To(HaveLen(1))
	g.Expect(findings[0].Severity).To(Equal(Warning))
	g.Expect(findings[0].Fix).To(Equal("allow ingress to Pods with the label mycrd.com/responder=server at TCP port 20001 from all clients of the application"))
}

// What is shipped for responders must let through what they are for, and no more.
func TestWhoMayReachAResponderUnderItsPolicy(t *testing.T) {
	g := NewWithT(t)
	data, err := os.ReadFile("../../../../../config/network-policy/responder/responder.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	var policy networkingv1.NetworkPolicy
	g.Expect(yaml.UnmarshalStrict(data, &policy)).To(Succeed())
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderServer}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "admin", ContainerPort: 8081}}}}},
	}
	for port, want := range map[int32]Reach{
		listener.First - 1: Closed, listener.First: Open, listener.Last: Open, listener.Last + 1: Closed, 8081: Open, 8080: Closed,
	} {
		reach, by := ReachOf([]networkingv1.NetworkPolicy{policy}, pod, port)
		g.Expect(reach).To(Equal(want), "%d", port)
		g.Expect(by).To(ConsistOf("critical-service-responder"), "%d", port)
	}
	g.Expect(policy.Spec.PolicyTypes).To(ContainElement(networkingv1.PolicyTypeEgress))
	g.Expect(policy.Spec.Egress).To(BeEmpty())
}
