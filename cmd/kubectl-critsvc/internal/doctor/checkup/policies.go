package checkup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

const checkNetworkPolicy = "network-policy"

// Reach is who may connect to a port of a Pod.
type Reach string

const (
	// Open: everybody.
	Open Reach = "open"
	// Restricted: some peers only.
	Restricted Reach = "restricted"
	// Closed: nobody.
	Closed Reach = "closed"
)

// ReachOf says who may connect to a TCP port of a Pod under the NetworkPolicies of
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
			case len(rule.From) == 0 || slices.ContainsFunc(rule.From, isEverybody):
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

// isEverybody tells whether a peer leaves nobody out: any address.
func isEverybody(peer networkingv1.NetworkPolicyPeer) bool {
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
	for _, port := range s.Spec.Ports {
		if finding, found := s.reachOfPort(port); found {
			findings = append(findings, finding)
		}
	}
	if len(findings) == 0 {
		return ok(checkNetworkPolicy, "no NetworkPolicy keeps clients from what stands by")
	}
	return findings
}

// reachOfPort is the finding for the first standby endpoint of a port that not
// everybody may reach.
func (s *Service) reachOfPort(port corev1.ServicePort) (finding Finding, found bool) {
	for _, slice := range s.standbys() {
		at := slices.IndexFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return ptr.Deref(p.Name, "") == port.Name && p.Port != nil })
		if at < 0 {
			continue
		}
		number := *slice.Ports[at].Port
		for _, endpoint := range slice.Endpoints {
			pod := s.fallback(endpoint)
			if pod == nil {
				continue
			}
			reach, policies := ReachOf(s.Home.NetworkPolicies.Value, pod, number)
			if reach != Open {
				return blocked(reach, policies, pod, port, number), true
			}
		}
	}
	return Finding{}, false
}

func (s *Service) fallback(endpoint discoveryv1.Endpoint) *corev1.Pod {
	if endpoint.TargetRef == nil {
		return nil
	}
	pods := s.Home.Fallbacks.Value
	if at := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Name == endpoint.TargetRef.Name }); at >= 0 {
		return &pods[at]
	}
	return nil
}

func blocked(reach Reach, policies []string, pod *corev1.Pod, port corev1.ServicePort, number int32) Finding {
	finding := Finding{
		Check: checkNetworkPolicy, Severity: Warning,
		What: fmt.Sprintf("NetworkPolicy %s lets only some peers connect to TCP port %d of Pod %s, which stands by for port %s", strings.Join(policies, ", "), number, pod.Name, portName(port)),
		Why:  "clients that may reach the application, and are not among these peers, get no answer in an outage, where the network enforces policies",
		Fix:  "allow ingress to Pods with " + selectorText(pod) + fmt.Sprintf(" at TCP port %d from whoever may reach the application", number),
	}
	if reach == Closed {
		finding.Severity = Problem
		finding.What = fmt.Sprintf("NetworkPolicy %s lets nobody connect to TCP port %d of Pod %s, which stands by for port %s", strings.Join(policies, ", "), number, pod.Name, portName(port))
		finding.Why = "no client gets an answer in an outage, where the network enforces policies"
	}
	return finding
}

// selectorText is by which labels a policy selects a Pod that stands in, and others
// of its kind.
func selectorText(pod *corev1.Pod) string {
	for _, key := range []string{"mycrd.com/responder", "mycrd.com/fallback-for"} {
		if value := pod.Labels[key]; value != "" {
			return "the label " + key + "=" + value
		}
	}
	return "the labels " + labelsOf(pod.Labels)
}
