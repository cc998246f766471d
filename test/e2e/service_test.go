//go:build e2e

package e2e

import (
	"maps"
	"net"
	"slices"
	"strconv"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// service is a Service of the scenario, and what can be expected of it.
type service struct {
	*world
	object *corev1.Service
	// policy is the CriticalService by which it is critical, in whichever version it was made,
	// or the ServiceFallback.
	policy client.Object
}

// service makes a Service labelled critical=name, which selects app=name and dials port 8080.
func (w *world) service(name string, edits ...func(*corev1.Service)) *service {
	w.t.Helper()
	object := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: labels{"critical": name}},
		Spec: corev1.ServiceSpec{
			Selector: labels{"app": name},
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
	for _, edit := range edits {
		edit(object)
	}
	w.create(object)
	return &service{world: w, object: object}
}

func labelled(set labels) func(*corev1.Service) {
	return func(service *corev1.Service) { service.Labels = set }
}

func dialling(port int32) func(*corev1.Service) {
	return func(service *corev1.Service) { service.Spec.Ports[0].TargetPort = intstr.FromInt32(port) }
}

// url is where clients inside the cluster reach the Service.
func (s *service) url() string { return urlOf(s.object.Spec.ClusterIP, s.object.Spec.Ports[0].Port) }

// nodePortURL is where clients outside the cluster reach the Service.
func (s *service) nodePortURL() string {
	s.t.Helper()
	return urlOf(s.nodeIP(), s.object.Spec.Ports[0].NodePort)
}

// nodeIP is the first address of a node.
func (w *world) nodeIP() string {
	w.t.Helper()
	var nodes corev1.NodeList
	w.Expect(w.List(w.ctx, &nodes)).To(Succeed())
	for _, address := range nodes.Items[0].Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return address.Address
		}
	}
	w.t.Fatalf("node %s has no internal address", nodes.Items[0].Name)
	return ""
}

func urlOf(host string, port int32) string {
	return "http://" + net.JoinHostPort(host, strconv.Itoa(int(port))) + "/"
}

// answeredBy waits until ten requests in a row are answered by who. One would not do: while proxies
// follow a change, requests go here and there.
func (s *service) answeredBy(who string) {
	s.t.Helper()
	s.Eventually(func() []string {
		var answers []string
		for range 10 {
			answers = append(answers, ask(s.url()))
		}
		slices.Sort(answers)
		return slices.Compact(answers)
	}).Should(HaveExactElements(who), "requests to Service %s (%s)", s.object.Name, s.url())
}

// answeredByNoOne waits until requests fail.
func (s *service) answeredByNoOne() {
	s.t.Helper()
	s.Eventually(func() string { return ask(s.url()) }).Should(HavePrefix("no one"), "requests to Service %s", s.object.Name)
}

// detail is what a CriticalService says of the Service.
func (s *service) detail(policy client.Object) func() criticalv2.ServiceStatus {
	return func() criticalv2.ServiceStatus {
		current := observed(policy)
		if err := s.Get(s.ctx, client.ObjectKeyFromObject(policy), current); err != nil {
			return criticalv2.ServiceStatus{Message: err.Error()}
		}
		for _, detail := range current.Observed().Details {
			if detail.Namespace == s.namespace && detail.Name == s.object.Name {
				return detail
			}
		}
		return criticalv2.ServiceStatus{}
	}
}

// observed is an empty object to read a policy into: a ServiceFallback is of a namespace.
func observed(policy client.Object) criticalv2.Policy {
	if policy.GetNamespace() != "" {
		return &criticalv2.ServiceFallback{}
	}
	return &criticalv2.CriticalService{}
}

// becomes waits for a state in the status, for the given reason, with a message that has these words.
func (s *service) becomes(state criticalv2.ServiceState, reason string, words ...string) {
	s.t.Helper()
	s.becomesBy(s.policy, state, reason, words...)
}

func (s *service) becomesBy(policy client.Object, state criticalv2.ServiceState, reason string, words ...string) {
	s.t.Helper()
	match := []gomegatypes.GomegaMatcher{HaveField("State", state), HaveField("Reason", reason)}
	for _, word := range words {
		match = append(match, HaveField("Message", ContainSubstring(word)))
	}
	s.Eventually(s.detail(policy)).Should(And(match...), "status of Service %s", s.object.Name)
}

// condition waits for a condition of the Service's CriticalService.
func (s *service) condition(kind string, status metav1.ConditionStatus, reason string, words ...string) {
	s.t.Helper()
	s.conditionOf(s.policy, kind, status, reason, words...)
}

func (s *service) conditionOf(policy client.Object, kind string, status metav1.ConditionStatus, reason string, words ...string) {
	s.t.Helper()
	match := []gomegatypes.GomegaMatcher{
		HaveField("Type", kind), HaveField("Status", status), HaveField("Reason", reason),
	}
	for _, word := range words {
		match = append(match, HaveField("Message", ContainSubstring(word)))
	}
	s.Eventually(func() []metav1.Condition {
		current := observed(policy)
		if err := s.Get(s.ctx, client.ObjectKeyFromObject(policy), current); err != nil {
			return nil
		}
		return current.Observed().Conditions
	}).Should(ContainElement(And(match...)), "conditions of %s", policy.GetName())
}

// fallbacks are the Pods that stand in for the Service and are not on their way out.
func (s *service) fallbacks(g Gomega) []corev1.Pod {
	var pods corev1.PodList
	g.Expect(s.List(s.ctx, &pods, client.InNamespace(s.namespace),
		client.MatchingLabels{criticalv2.LabelFallbackFor: s.object.Name})).To(Succeed())
	return pods.Items
}

// covered waits until the fallback is there, answers, and the status says so.
func (s *service) covered() *corev1.Pod {
	s.t.Helper()
	s.becomes(criticalv2.StateCovered, criticalv2.ReasonFallbackServing)
	s.answeredBy(fallbackName)
	var fallback corev1.Pod
	// The status may be of a moment before: after a change, the cluster needs a while to follow.
	s.Eventually(func(g Gomega) {
		pods := s.fallbacks(g)
		g.Expect(pods).To(HaveLen(1))
		fallback = pods[0]
		g.Expect(s.readyEndpoints(g)).To(HaveExactElements(fallback.Name))
	}).Should(Succeed(), "the fallback is the only endpoint of Service %s", s.object.Name)
	return &fallback
}

// armed waits until the fallback is gone, the Service's own Pods answer, and the status says so.
func (s *service) armed(who string) {
	s.t.Helper()
	s.becomes(criticalv2.StateArmed, criticalv2.ReasonEndpointsReady)
	s.noFallback()
	s.answeredBy(who)
}

func (s *service) noFallback() {
	s.t.Helper()
	s.Eventually(s.fallbacks).Should(BeEmpty(), "fallback Pods of Service %s", s.object.Name)
}

// keeps looks on for a while and sees the same fallback Pod all the time.
func (s *service) keeps(fallback *corev1.Pod) {
	s.t.Helper()
	s.Consistently(s.fallbacks).Should(HaveExactElements(HaveField("UID", fallback.UID)))
}

// staysWithoutFallback looks on for a while and sees no fallback Pod.
func (s *service) staysWithoutFallback() {
	s.t.Helper()
	s.Consistently(s.fallbacks).Should(BeEmpty())
}

// readyEndpoints are the names of the Pods to which the cluster sends the Service's traffic.
func (s *service) readyEndpoints(g Gomega) []string {
	names := map[string]bool{}
	for _, slice := range s.slices(g) {
		for _, endpoint := range slice.Endpoints {
			if ptr.Deref(endpoint.Conditions.Ready, true) && endpoint.TargetRef != nil {
				names[endpoint.TargetRef.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
