package stories_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice"
	"github.com/critical-service/operator/test/testenv"
)

// fastTest is an interval in which a test sees many self-tests.
const fastTest = 200 * time.Millisecond

// network is what the self-test reaches: servers by their address. Who is not
// there refuses.
type network struct {
	mu      sync.Mutex
	servers map[string]func(net.Conn)
	dialled map[string]int
	heard   map[string]string
}

func newNetwork() *network {
	return &network{servers: map[string]func(net.Conn){}, dialled: map[string]int{}, heard: map[string]string{}}
}

func (n *network) dial(_ context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dialled[address]++
	serve := n.servers[address]
	if serve == nil {
		return nil, syscall.ECONNREFUSED
	}
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		serve(theirs)
	}()
	return ours, nil
}

// listen lets an address answer any request with a page; off takes it away.
func (n *network) listen(addresses ...string) {
	for _, address := range addresses {
		n.set(address, func(c net.Conn) {
			buffer := make([]byte, 4096)
			read, _ := c.Read(buffer)
			n.mu.Lock()
			n.heard[address] = string(buffer[:read])
			n.mu.Unlock()
			_, _ = io.WriteString(c, unavailable)
		})
	}
}

const unavailable = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"

// answer answers a request, whatever it is.
func answer(c net.Conn) {
	_, _ = c.Read(make([]byte, 4096))
	_, _ = io.WriteString(c, unavailable)
}

func (n *network) off(address string) { n.set(address, nil) }

func (n *network) set(address string, serve func(net.Conn)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.servers[address] = serve
}

// asked is how often an address was dialled.
func (n *network) asked(address string) func() int {
	return func() int {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.dialled[address]
	}
}

// others are the addresses that were dialled, but for some.
func (n *network) others(but ...string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var others []string
	for address := range n.dialled {
		if !slices.Contains(but, address) {
			others = append(others, address)
		}
	}
	return others
}

func (n *network) said(address string) func() string {
	return func() string {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.heard[address]
	}
}

// tests lets an operator test standbys over a network.
func (n *network) tests(o *criticalservice.Options) {
	o.SelfTestInterval, o.SelfTestDial = fastTest, n.dial
}

// failoverReady is the condition of a policy with its message.
func (w *world) failoverReady(policy *criticalv2.CriticalService) func() string {
	return func() string {
		condition := apimeta.FindStatusCondition(w.statusOf(policy).Conditions, criticalv2.ConditionFailoverReady)
		if condition == nil {
			return ""
		}
		return string(condition.Status) + "/" + condition.Reason + ": " + condition.Message
	}
}

const oneAnswers = "True/StandbyAnswers: The standby of 1 Service answers."

// The story of a page's standby: it answers, one Pod of it does not, it does again.
func TestAStandbyIsTestedBeforeItIsNeeded(t *testing.T) {
	w, n, registry := withResponder(t), newNetwork(), prometheus.NewRegistry()
	w.start(w.complete(n.tests, func(o *criticalservice.Options) { o.Registry = registry }))
	policy := w.policy("shop", toPage)
	service, _ := w.up("web")
	w.Eventually(w.conditionOf(policy, "FailoverReady")).Should(Equal("Unknown/NotTested"))

	one := w.responderThatStarts("responder-1")
	w.MakeUnready(one)
	first := one.Status.PodIP + ":20000"
	n.listen(first)
	w.MakeReady(one)
	w.Eventually(w.failoverReady(policy)).Should(Equal(oneAnswers))
	w.Eventually(n.said(first)).Should(And(
		HavePrefix("GET / HTTP/1.1\r\nHost: web."+w.Namespace+".svc\r\n"), ContainSubstring("User-Agent: critical-service-self-test/")))

	two := w.responder("responder-2")
	second := two.Status.PodIP + ":20000"
	w.Eventually(w.failoverReady(policy)).Should(Equal("False/StandbySilent: Service " + w.Namespace + `/web: port "http" (80): ` +
		`Pod "responder-2" refused the connection on ` + second + ": nothing listens there. " +
		"Check the responder Pods' logs, and that no NetworkPolicy blocks the operator."))
	w.Eventually(w.EventsOf(service, "StandbySilent")).Should(HaveLen(1))
	event := w.Events(service, "StandbySilent")[0]
	w.Expect(event.Type).To(Equal(corev1.EventTypeWarning))
	w.Expect(event.Message).To(HavePrefix(`The standby does not answer: port "http" (80): Pod "responder-2" refused`))
	w.Expect(w.Events(service, "StandbyAnswers")).To(BeEmpty(), "it never was silent before")
	w.Eventually(func() float64 {
		return sample(w, registry, "self_tests_total", map[string]string{"result": "silent"})
	}).Should(BeNumerically(">", 1))

	n.listen(second)
	w.Eventually(w.failoverReady(policy)).Should(Equal(oneAnswers))
	w.Eventually(w.EventsOf(service, "StandbyAnswers")).Should(HaveLen(1))
	w.Expect(sample(w, registry, "self_tests_total", map[string]string{"result": "answered"})).To(BeNumerically(">", 1))
	w.Expect(n.others(first, second)).To(BeEmpty())

	w.Delete(service)
	w.UnpublishEndpoints(service)
	w.Eventually(w.conditionOf(policy, "FailoverReady")).Should(Equal("Unknown/NotTested"))
	w.Expect(w.Events(service, "StandbySilent")).To(HaveLen(1))
}

// What is silent once only is no news: Pods of a responder come and go.
func TestASilenceIsSeenTwiceBeforeItCounts(t *testing.T) {
	w, n := withResponder(t), newNetwork()
	w.start(w.complete(n.tests))
	policy := w.policy("shop", toPage)
	service, _ := w.up("web")
	pod := w.responderThatStarts("responder-1")
	w.MakeUnready(pod)
	address := pod.Status.PodIP + ":20000"
	var turns int
	n.set(address, func(c net.Conn) {
		n.mu.Lock()
		turns++
		isFirst := turns%2 == 1
		n.mu.Unlock()
		if !isFirst {
			answer(c)
		}
	})
	w.MakeReady(pod)
	w.Eventually(w.failoverReady(policy)).Should(Equal(oneAnswers))
	w.Eventually(n.asked(address)).Should(BeNumerically(">", 10))
	w.Expect(w.failoverReady(policy)()).To(Equal(oneAnswers))
	w.Expect(w.Events(service, "StandbySilent")).To(BeEmpty())
	w.Expect(w.Events(service, "StandbyAnswers")).To(BeEmpty())
}

// What was found outlives the operator: it is said once, and held on to until it
// has been looked at again.
func TestASilenceIsReportedOnceWhateverBecomesOfTheOperator(t *testing.T) {
	w, n := withResponder(t), newNetwork()
	w.start(w.complete(n.tests))
	policy := w.policy("shop", toPage)
	service, _ := w.armed(policy, "web")
	address := w.podSlice(service)
	w.Expect(w.Exists(address)).To(BeTrue())
	first := address.Endpoints[0].Addresses[0] + ":20000"
	w.Eventually(w.conditionOf(policy, "FailoverReady")).Should(Equal("False/StandbySilent"))
	w.Eventually(w.EventsOf(service, "StandbySilent")).Should(HaveLen(1))
	since := w.transitionOf(policy)

	w.stop()
	w.start(w.complete(n.tests))
	before := n.asked(first)()
	w.Eventually(n.asked(first)).Should(BeNumerically(">", before+4), "it has been found silent again")
	w.Expect(w.conditionOf(policy, "FailoverReady")()).To(Equal("False/StandbySilent"))
	w.Expect(w.transitionOf(policy)).To(Equal(since))

	n.listen(first)
	w.Eventually(w.failoverReady(policy)).Should(Equal(oneAnswers))
	w.Eventually(w.EventsOf(service, "StandbyAnswers")).Should(HaveLen(1))
	w.Expect(w.Events(service, "StandbySilent")).To(HaveLen(1))

	w.stop()
	w.start(w.complete()) // It tests nothing, and may not repeat what another found.
	w.Eventually(w.conditionOf(policy, "FailoverReady")).Should(Equal("Unknown/NotTested"))
}

// Each Service has a result of its own in the status; the condition names the first only.
func TestASilenceOfAnyServiceIsReportedOnce(t *testing.T) {
	w, n := withResponder(t), newNetwork()
	w.start(w.complete(n.tests))
	policy := w.policy("shop", toPage)
	first, _ := w.armed(policy, "web")
	second, _ := w.up("web-2")
	silent := func(service *corev1.Service) func() string {
		return func() string {
			status := w.statusOf(policy)
			detail := status.DetailOf(service.Namespace, service.Name)
			if detail == nil || detail.Failover == nil {
				return ""
			}
			return fmt.Sprintf("%s/%s on %d", detail.Failover.Status, detail.Failover.Reason, detail.Failover.Port)
		}
	}
	for _, service := range []*corev1.Service{first, second} {
		w.Eventually(silent(service)).Should(Equal("False/StandbySilent on 80"))
		w.Eventually(w.EventsOf(service, "StandbySilent")).Should(HaveLen(1))
	}
	slice := w.podSlice(second)
	w.Expect(w.Exists(slice)).To(BeTrue())
	address := fmt.Sprintf("%s:%d", slice.Endpoints[0].Addresses[0], *slice.Ports[0].Port)

	w.stop()
	w.start(w.complete(n.tests))
	before := n.asked(address)()
	w.Eventually(n.asked(address)).Should(BeNumerically(">", before+4), "it has been found silent again")
	w.Expect(w.Events(second, "StandbySilent")).To(HaveLen(1))
	n.listen(address)
	w.Eventually(silent(second)).Should(Equal("True/StandbyAnswers on 0"))
	w.Expect(silent(first)()).To(Equal("False/StandbySilent on 80"))
	w.Eventually(w.EventsOf(second, "StandbyAnswers")).Should(HaveLen(1))
}

func (w *world) transitionOf(policy *criticalv2.CriticalService) time.Time {
	return apimeta.FindStatusCondition(w.statusOf(policy).Conditions, criticalv2.ConditionFailoverReady).LastTransitionTime.Time
}

// In a settled world nothing is written, however often it is tested.
func TestTestsThatFindTheSameWriteNothing(t *testing.T) {
	w, n := withResponder(t), newNetwork()
	w.start(w.complete(n.tests))
	policy := w.policy("shop", toPage)
	_, _ = w.up("web")
	pod := w.responderThatStarts("responder-1")
	w.MakeUnready(pod)
	address := pod.Status.PodIP + ":20000"
	n.listen(address)
	w.MakeReady(pod)
	w.Eventually(w.failoverReady(policy)).Should(Equal(oneAnswers))
	// What the rest of the operator still has to do comes to its end.
	w.Eventually(func() []string {
		asked, before := n.asked(address)(), len(w.requests())
		w.Eventually(n.asked(address)).Should(BeNumerically(">", asked+10))
		return w.since(before)
	}).Should(BeEmpty())
}

// The Pods of others are not disturbed: only where a port says that it has pages
// is one asked for.
func TestABackupIsTestedWithoutDisturbingIt(t *testing.T) {
	ports := func(service *corev1.Service) {
		service.Spec.Ports = []corev1.ServicePort{
			{Name: "http", Port: 80, TargetPort: portNumber(8080)}, {Name: "mysql", Port: 3306, TargetPort: portNumber(3306)},
			{Name: "metrics", Port: 8080, TargetPort: portNumber(9090)}, {Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP, TargetPort: portNumber(53)},
		}
	}
	w, n := withResponder(t), newNetwork()
	w.start(w.complete(n.tests))
	policy := w.policy("shop", toBackup("spare"))
	service, _ := w.up("web", ports)
	spare := w.Service("spare", ports)
	pod := w.Pod("spare-1", spare)
	w.MakeUnready(pod)
	page, database, other := pod.Status.PodIP+":8080", pod.Status.PodIP+":3306", pod.Status.PodIP+":9090"
	n.listen(page, database, other)
	w.MakeReady(pod)
	w.PublishEndpoints(spare)
	w.Eventually(w.failoverReady(policy)).Should(Equal(oneAnswers))
	w.Expect(n.said(page)()).To(HavePrefix("GET / HTTP/1.1\r\n"))
	w.Eventually(n.asked(database)).Should(BeNumerically(">", 1))
	w.Expect(n.said(database)()).To(BeEmpty())
	w.Expect(n.said(other)()).To(BeEmpty())
	w.Expect(n.others(page, database, other)).To(BeEmpty(), "UDP has no connections")

	n.off(database)
	w.Eventually(w.failoverReady(policy)).Should(Equal("False/StandbySilent: Service " + w.Namespace + `/web: port "mysql" (3306): ` +
		`Pod "spare-1" refused the connection on ` + database + `: nothing listens there. Check that the Pods of ` +
		`backup Service "spare" listen there, and that no NetworkPolicy blocks the operator.`))
	n.off(page)
	w.Eventually(w.failoverReady(policy)).Should(And(ContainSubstring(`port "http" (80): Pod "spare-1" refused`), ContainSubstring("nothing listens there (and 1 more). Check")))
	w.Expect(w.Events(service, "StandbySilent")).To(HaveLen(1), "it is silent on one more port, and was silent before")
}

// Endpoints of a backup may be written by every user who may write an EndpointSlice: the
// operator must not dial what they choose.
func TestOnlyAddressesOfPodsAreAsked(t *testing.T) {
	w, n := withResponder(t), newNetwork()
	w.start(w.complete(n.tests))
	policy := w.policy("shop", toBackup("spare"))
	service, _ := w.up("web")
	spare := w.Service("spare")
	pod := w.Pod("spare-1", spare)
	w.MakeUnready(pod)
	n.listen(pod.Status.PodIP+":8080", "10.9.9.9:8080", "10.9.9.8:8080")
	endpoint := func(address, name string) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{
			Addresses:  []string{address},
			Conditions: discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: w.Namespace, Name: name, UID: pod.UID},
		}
	}
	forged := w.Slice(spare, "forged", func(s *discoveryv1.EndpointSlice) {
		s.Endpoints = []discoveryv1.Endpoint{endpoint("10.9.9.9", "spare-1"), endpoint("10.9.9.8", "no-such-pod")}
	})
	w.Eventually(w.published(service)).Should(Equal("service: no-such-pod+spare-1 on http=8080, standby"))
	w.Eventually(func() int { return w.operator.Reconciles("self-test", service.Namespace, service.Name) }).Should(BeNumerically(">", 3))
	w.Expect(n.others()).To(BeEmpty())
	w.Eventually(w.failoverReady(policy)).Should(Equal("False/StandbySilent: Service " + w.Namespace + `/web: port "http" (80): ` +
		`10.9.9.8:8080 is published, and no Pod has this address (and 1 more). Check the EndpointSlices of ` +
		`backup Service "spare": those that Kubernetes maintains have addresses of Pods only.`))

	testenv.Update(w.World, forged, func(s *discoveryv1.EndpointSlice) {
		s.Endpoints = []discoveryv1.Endpoint{endpoint(pod.Status.PodIP, "spare-1")}
	})
	w.Eventually(w.failoverReady(policy)).Should(Equal(oneAnswers))
	w.Expect(n.others(pod.Status.PodIP + ":8080")).To(BeEmpty())
}

// A Pod that is made in an outage only cannot be asked before, and the condition does not wait
// for it; one that stands by can.
func TestAPodIsTestedOnceItStandsBy(t *testing.T) {
	w, n := withResponder(t), newNetwork()
	w.template()
	w.start(w.complete(n.tests))
	policy := w.policy("shop", w.toPod(criticalv2.ActivationOnDemand))
	service, _ := w.up("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))
	w.Eventually(w.conditionOf(policy, "FailoverReady")).Should(Equal("Unknown/NotTested"))

	w.turn(policy, w.toPod(criticalv2.ActivationStandby))
	pod := w.fallback(service)
	w.MakeReady(pod)
	address := pod.Status.PodIP + ":8080"
	w.Eventually(w.failoverReady(policy)).Should(And(
		HavePrefix("False/StandbySilent: Service "+w.Namespace+`/web: port "http" (80): Pod `), ContainSubstring("on "+address+": nothing listens there."),
		HaveSuffix("Check that the PodTemplate declares the ports on which its containers listen, and that no NetworkPolicy blocks the operator.")))
	n.listen(address)
	w.Eventually(w.failoverReady(policy)).Should(Equal(oneAnswers))

	w.turn(policy, w.toPod(criticalv2.ActivationOnDemand))
	w.gone(service)
	w.Eventually(w.conditionOf(policy, "FailoverReady")).Should(Equal("Unknown/NotTested"), "nothing is left that was tested")
}

// A template that declares no port is trusted to listen. Whether it does is seen in the
// outage, as clients see it.
func TestASelectedFallbackPodIsAskedInAnOutage(t *testing.T) {
	w, n := apart(t), newNetwork()
	options := standard
	n.tests(&options)
	w.start(w.confined(options))
	policy := w.policy("shop")
	service, own := w.up("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))
	w.Eventually(w.conditionOf(policy, "FailoverReady")).Should(Equal("Unknown/NotTested"), "before the outage there is no Pod to ask")

	w.Delete(own)
	w.PublishEndpoints(service)
	pod := w.fallback(service)
	w.answer(service, pod)
	w.Expect(w.Exists(pod)).To(BeTrue())
	address := pod.Status.PodIP + ":8080"
	w.Eventually(w.stateOf(policy, service)).Should(HavePrefix("Covered/"))
	w.Eventually(w.failoverReady(policy)).Should(And(
		HavePrefix("False/StandbySilent: Service "+w.Namespace+`/web: port "http" (80): Pod "`+pod.Name+`" refused the connection on `+address),
		ContainSubstring("check that a container of its PodTemplate listens on that port")))
	w.Eventually(w.EventsOf(service, "StandbySilent")).Should(HaveLen(1))
	w.Expect(w.detailOf(policy, service).Failover).To(HaveField("Reason", criticalv2.ConditionReasonStandbySilent))

	// Another Service has the same selector: its clients are sent to the same Pods.
	twin := w.critical("twin", func(s *corev1.Service) { s.Spec.Selector = service.Spec.Selector })
	w.PublishEndpoints(twin)
	w.Eventually(w.EventsOf(twin, "StandbySilent")).Should(HaveLen(1))

	n.listen(address)
	w.answer(twin, w.fallback(twin))
	other := w.fallback(twin)
	w.PublishEndpoints(service)
	n.listen(other.Status.PodIP + ":8080")
	w.Eventually(w.failoverReady(policy)).Should(Equal("True/StandbyAnswers: The standbys of 2 Services answer."))
	w.Eventually(w.EventsOf(service, "StandbyAnswers")).ShouldNot(BeEmpty())
}
