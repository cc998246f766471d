//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv1 "github.com/critical-service/operator/api/v1"
	"github.com/critical-service/operator/test/prober"
)

// service is a Service of the scenario, and what can be expected of it.
type service struct {
	*world
	object *corev1.Service
	// policy is the CriticalService by which it is critical.
	policy *criticalv1.CriticalService
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

// critical declares the Service critical, by a CriticalService of its own.
func (s *service) critical() *service {
	s.t.Helper()
	s.policy = s.world.policy(s.name(s.object.Name), s.namespace, s.object.Labels)
	return s
}

// url is where clients inside the cluster reach the Service.
func (s *service) url() string { return urlOf(s.object.Spec.ClusterIP, s.object.Spec.Ports[0].Port) }

// nodePortURL is where clients outside the cluster reach the Service.
func (s *service) nodePortURL() string {
	s.t.Helper()
	var nodes corev1.NodeList
	s.Expect(s.List(s.ctx, &nodes)).To(Succeed())
	for _, address := range nodes.Items[0].Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return urlOf(address.Address, s.object.Spec.Ports[0].NodePort)
		}
	}
	s.t.Fatalf("node %s has no internal address", nodes.Items[0].Name)
	return ""
}

func urlOf(host string, port int32) string {
	return "http://" + net.JoinHostPort(host, strconv.Itoa(int(port))) + "/"
}

var oneConnectionEach = &http.Client{
	Timeout:   2 * time.Second,
	Transport: &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{}).DialContext},
}

// ask makes one real request and says who answered, or why nobody did.
func ask(url string) string {
	response, err := oneConnectionEach.Get(url)
	if err != nil {
		return fmt.Sprintf("nobody: %s", prober.Classify(err))
	}
	_ = response.Body.Close()
	return response.Header.Get(prober.AnsweredByHeader)
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

// answeredByNobody waits until requests fail.
func (s *service) answeredByNobody() {
	s.t.Helper()
	s.Eventually(func() string { return ask(s.url()) }).Should(HavePrefix("nobody"), "requests to Service %s", s.object.Name)
}

// detail is what a CriticalService says of the Service.
func (s *service) detail(policy *criticalv1.CriticalService) func() criticalv1.ServiceStatus {
	return func() criticalv1.ServiceStatus {
		var current criticalv1.CriticalService
		if err := s.Get(s.ctx, client.ObjectKeyFromObject(policy), &current); err != nil {
			return criticalv1.ServiceStatus{Message: err.Error()}
		}
		for _, detail := range current.Status.Details {
			if detail.Namespace == s.namespace && detail.Name == s.object.Name {
				return detail
			}
		}
		return criticalv1.ServiceStatus{}
	}
}

// becomes waits for a state in the status, for the given reason, with a message that has these words.
func (s *service) becomes(state criticalv1.ServiceState, reason string, words ...string) {
	s.t.Helper()
	s.becomesBy(s.policy, state, reason, words...)
}

func (s *service) becomesBy(policy *criticalv1.CriticalService, state criticalv1.ServiceState, reason string, words ...string) {
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

func (s *service) conditionOf(policy *criticalv1.CriticalService, kind string, status metav1.ConditionStatus, reason string, words ...string) {
	s.t.Helper()
	match := []gomegatypes.GomegaMatcher{
		HaveField("Type", kind), HaveField("Status", status), HaveField("Reason", reason),
	}
	for _, word := range words {
		match = append(match, HaveField("Message", ContainSubstring(word)))
	}
	s.Eventually(func() []metav1.Condition {
		var current criticalv1.CriticalService
		if err := s.Get(s.ctx, client.ObjectKeyFromObject(policy), &current); err != nil {
			return nil
		}
		return current.Status.Conditions
	}).Should(ContainElement(And(match...)), "conditions of CriticalService %s", policy.Name)
}

// fallbacks are the Pods that stand in for the Service and are not on their way out.
func (s *service) fallbacks(g Gomega) []corev1.Pod {
	var pods corev1.PodList
	g.Expect(s.List(s.ctx, &pods, client.InNamespace(s.namespace),
		client.MatchingLabels{criticalv1.LabelFallbackFor: s.object.Name})).To(Succeed())
	return pods.Items
}

// covered waits until the fallback is there, answers, and the status says so.
func (s *service) covered() *corev1.Pod {
	s.t.Helper()
	s.becomes(criticalv1.StateCovered, criticalv1.ReasonFallbackServing)
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
	s.becomes(criticalv1.StateArmed, criticalv1.ReasonEndpointsReady)
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
	var endpoints discoveryv1.EndpointSliceList
	g.Expect(s.List(s.ctx, &endpoints, client.InNamespace(s.namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: s.object.Name})).To(Succeed())
	names := map[string]bool{}
	for _, slice := range endpoints.Items {
		for _, endpoint := range slice.Endpoints {
			if ptr.Deref(endpoint.Conditions.Ready, true) && endpoint.TargetRef != nil {
				names[endpoint.TargetRef.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// probe starts to ask the Service at a fixed rate; stop says who answered when.
func (s *service) probe() (stop func() []prober.Segment) {
	ctx, cancel := context.WithCancel(s.ctx)
	var timeline prober.Timeline
	ended := make(chan error, 1)
	probe := prober.Prober{URL: s.url(), Rate: 50, Timeout: time.Second}
	go func() {
		ended <- probe.Run(ctx, func(result prober.Result) { timeline.Add(result) })
	}()
	stop = func() []prober.Segment {
		s.t.Helper()
		cancel()
		s.Expect(<-ended).To(Succeed())
		segments := timeline.Segments()
		s.t.Logf("who answered for Service %s:\n%s", s.object.Name, story(segments))
		return segments
	}
	s.t.Cleanup(cancel)
	return stop
}

// story tells segments in lines.
func story(segments []prober.Segment) string {
	if len(segments) == 0 {
		return "  no request"
	}
	var text strings.Builder
	start := segments[0].From
	for _, phase := range prober.Phases(segments, 100*time.Millisecond) {
		var parts []string
		for _, who := range phase.Who() {
			name := who
			if who == prober.Nobody {
				name = fmt.Sprintf("nobody %v", phase.Faults)
			}
			parts = append(parts, fmt.Sprintf("%s %d", name, phase.Requests[who]))
		}
		fmt.Fprintf(&text, "  %7.2f s to %7.2f s  %s\n", phase.From.Sub(start).Seconds(), phase.To.Sub(start).Seconds(), strings.Join(parts, ", "))
	}
	sum := prober.Summarise(segments)
	fmt.Fprintf(&text, "  without an answer: %.2f s, the longest gap %.2f s", sum.Unanswered.Seconds(), sum.LongestGap.Seconds())
	return text.String()
}
