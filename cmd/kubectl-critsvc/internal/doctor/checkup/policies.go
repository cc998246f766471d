package checkup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
)

const checkNetworkPolicy = "network-policy"

// Reach is which peers may connect to a port of a Pod.
type Reach string

const (
	// Open: all.
	Open Reach = "open"
	// Restricted: some peers only.
	Restricted Reach = "restricted"
	// Closed: none.
	Closed Reach = "closed"
)

// ReachOf says which peers may connect to a TCP port of a Pod under the NetworkPolicies of
// its namespace, and which policies select the Pod.
func ReachOf(policies []networkingv1.NetworkPolicy, pod *corev1.Pod, port int32) (reach Reach, selecting []string) {
	reach = Closed
	for _, policy := range policies {
		if !limitsIngress(policy) || !selectsPod(policy, pod) {
			continue
		}
		selecting = append(selecting, policy.Name)
		for _, rule := range policy.Spec.Ingress {
			switch {
			case !admitsPort(rule.Ports, pod, port):
			case len(rule.From) == 0 || slices.ContainsFunc(rule.From, isAnyone):
				reach = Open
			case reach == Closed:
				reach = Restricted
			}
		}
	}
	if len(selecting) == 0 {
		return Open, nil
	}
	slices.Sort(selecting)
	return reach, selecting
}

func limitsIngress(policy networkingv1.NetworkPolicy) bool {
	return len(policy.Spec.PolicyTypes) == 0 || slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeIngress)
}

func selectsPod(policy networkingv1.NetworkPolicy, pod *corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
	return err == nil && selector.Matches(labels.Set(pod.Labels))
}

// isAnyone reports whether a peer is any address.
func isAnyone(peer networkingv1.NetworkPolicyPeer) bool {
	return peer.IPBlock != nil && strings.HasSuffix(peer.IPBlock.CIDR, "/0") && len(peer.IPBlock.Except) == 0
}

func admitsPort(ports []networkingv1.NetworkPolicyPort, pod *corev1.Pod, number int32) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		if ptr.Deref(p.Protocol, corev1.ProtocolTCP) != corev1.ProtocolTCP {
			return false
		}
		if p.Port == nil {
			return true
		}
		first := p.Port.IntVal
		if p.Port.Type == intstr.String {
			first = containerPort(pod, p.Port.StrVal)
		}
		return first > 0 && number >= first && number <= ptr.Deref(p.EndPort, first)
	})
}

func containerPort(pod *corev1.Pod, name string) int32 {
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if port.Name == name && cmp.Or(port.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP {
				return port.ContainerPort
			}
		}
	}
	return 0
}

// networkPolicies checks that clients may connect to what stands by.
func networkPolicies(_ *World, s *Service) []Finding {
	if !s.hasStandby() {
		return nil
	}
	switch {
	case s.Home.NetworkPolicies.Problem != "":
		return unchecked(checkNetworkPolicy, "NetworkPolicies: "+s.Home.NetworkPolicies.Problem, "run it with the right to list networkpolicies in the namespace")
	case s.Home.Fallbacks.Problem != "":
		return unchecked(checkNetworkPolicy, "the Pods that stand in: "+s.Home.Fallbacks.Problem, "run it with the right to list pods in the namespace")
	}
	var findings []Finding
	blockedPorts := map[string]bool{} // One finding for each is enough.
	for _, target := range protection.Targets(&s.Service, s.Slices.Value) {
		pod, port := s.fallback(target.Pod()), protection.PortName(target.Port)
		if pod == nil || blockedPorts[port] {
			continue
		}
		if reach, policies := ReachOf(s.Home.NetworkPolicies.Value, pod, target.Number); reach != Open {
			blockedPorts[port] = true
			findings = append(findings, blocked(reach, policies, pod, target))
		}
	}
	if len(findings) == 0 {
		return ok(checkNetworkPolicy, "no NetworkPolicy keeps clients from what stands by")
	}
	return findings
}

func (s *Service) fallback(name string) *corev1.Pod {
	pods := s.Home.Fallbacks.Value
	if at := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Name == name }); at >= 0 {
		return &pods[at]
	}
	return nil
}

// blocked is the finding of a port that not all clients may reach.
func blocked(reach Reach, policies []string, pod *corev1.Pod, target protection.Target) Finding {
	finding := Finding{
		Check: checkNetworkPolicy, Severity: Warning,
		What: fmt.Sprintf("NetworkPolicy %s lets only some peers connect to TCP port %d of Pod %s, which stands by for port %s", strings.Join(policies, ", "), target.Number, pod.Name, portName(target.Port)),
		Why:  "clients that may reach the application, and are not among these peers, get no answer in an outage, where the network enforces policies",
		Fix:  "allow ingress to Pods with " + selectorText(pod) + fmt.Sprintf(" at TCP port %d from all clients of the application", target.Number),
	}
	if reach == Closed {
		finding.Severity = Problem
		finding.What = fmt.Sprintf("NetworkPolicy %s allows no connection to TCP port %d of Pod %s, which stands by for port %s", strings.Join(policies, ", "), target.Number, pod.Name, portName(target.Port))
		finding.Why = "no client gets an answer in an outage, where the network enforces policies"
	}
	return finding
}

// selectorText is by which labels a policy selects a Pod that stands in, and others
// of its kind.
func selectorText(pod *corev1.Pod) string {
	for _, key := range []string{criticalv2.LabelResponder, criticalv2.LabelFallbackFor} {
		if value := pod.Labels[key]; value != "" {
			return "the label " + key + "=" + value
		}
	}
	return "the labels " + labelsOf(pod.Labels)
}
