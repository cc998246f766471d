package selftest

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
	"github.com/critical-service/operator/internal/contract/appprotocol"
	"github.com/critical-service/operator/internal/probe"
	"github.com/critical-service/operator/internal/protection"
)

func TestSelfTestsAreSpreadOverTheInterval(t *testing.T) {
	g := NewWithT(t)
	const every, services = 5 * time.Minute, 1000
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	perMinute := map[int]int{}
	for i := range services {
		key := types.NamespacedName{Namespace: "shop", Name: fmt.Sprintf("web-%d", i)}
		wait := untilTurn(now, key, every)
		g.Expect(wait).To(And(BeNumerically(">=", every/2), BeNumerically("<=", every+every/2)))
		next := now.Add(wait)
		perMinute[int(next.Unix()/60)%5]++
		for range 3 {
			g.Expect(untilTurn(next, key, every)).To(Equal(every), "its moment is always the same")
			g.Expect(untilTurn(next.Add(time.Second), key, every)).To(Equal(every-time.Second), "a test that took a second does not move it")
			g.Expect(untilTurn(next.Add(-time.Second), key, every)).To(Equal(every+time.Second), "nor does one that came early")
			next = next.Add(every)
		}
	}
	g.Expect(perMinute).To(HaveLen(5))
	for minute, count := range perMinute {
		g.Expect(count).To(BeNumerically("~", services/5, services/10), "minute %d", minute)
	}
}

func TestHowAPortIsAsked(t *testing.T) {
	tests := map[string]struct {
		port  corev1.ServicePort
		page  appprotocol.Protocol
		other appprotocol.Protocol
	}{
		"HTTP by its appProtocol": {corev1.ServicePort{AppProtocol: new("http")}, appprotocol.HTTP, appprotocol.HTTP},
		"HTTP by its name":        {corev1.ServicePort{Name: "http-admin"}, appprotocol.HTTP, appprotocol.HTTP},
		"HTTP by its number only": {corev1.ServicePort{Port: 80}, appprotocol.HTTP, appprotocol.TCP},
		"gRPC":                    {corev1.ServicePort{Name: "grpc"}, appprotocol.GRPC, appprotocol.GRPC},
		"HTTP/2":                  {corev1.ServicePort{AppProtocol: new("kubernetes.io/h2c")}, appprotocol.H2C, appprotocol.H2C},
		"a database":              {corev1.ServicePort{Name: "postgres"}, appprotocol.PostgreSQL, appprotocol.TCP},
		"TLS":                     {corev1.ServicePort{AppProtocol: new("https")}, appprotocol.TLS, appprotocol.TCP},
		"one that is unknown":     {corev1.ServicePort{Port: 9000}, appprotocol.HTTP, appprotocol.TCP},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(askedIn(g, test.port, criticalv2.FallbackKindPage)).To(Equal(test.page))
			for _, kind := range []string{criticalv2.FallbackKindPodTemplate, criticalv2.FallbackKindService} {
				g.Expect(askedIn(g, test.port, kind)).To(Equal(test.other))
			}
		})
	}
}

// askedIn is the protocol in which a port of a standby of some kind is asked.
func askedIn(g Gomega, port corev1.ServicePort, kind string) appprotocol.Protocol {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "one"}, Status: corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "10.0.0.3"}}}}
	snap := decide.Snapshot{
		Service: &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{port}},
		},
		Pods: []corev1.Pod{pod},
		Standby: []discoveryv1.EndpointSlice{{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
				discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: criticalv2.ManagedBy, criticalv2.LabelFallbackKind: kind,
			}},
			Ports:     []discoveryv1.EndpointPort{{Name: &port.Name, Port: new(int32(20000))}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.3"}, TargetRef: &corev1.ObjectReference{UID: "one"}}},
		}},
	}
	questions, err := (&Reconciler{}).questions(context.Background(), &snap)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(questions).To(HaveLen(1))
	g.Expect(questions[0].stray).To(BeFalse())
	g.Expect(questions[0].Address()).To(Equal("10.0.0.3:20000"))
	return questions[0].Protocol
}

func TestWhatASilenceSays(t *testing.T) {
	slice := func(kind string) discoveryv1.EndpointSlice {
		return discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
			Name: "web-standby-ipv4", Labels: map[string]string{criticalv2.LabelFallbackKind: kind},
			Annotations: map[string]string{criticalv2.AnnotationBackup: "spare"},
		}}
	}
	refused := silence{
		question: question{Target: protection.Target{
			Port: corev1.ServicePort{Name: "http", Port: 80}, Number: 8080, Protocol: appprotocol.HTTP,
			Endpoint: &discoveryv1.Endpoint{Addresses: []string{"10.0.0.3"}, TargetRef: &corev1.ObjectReference{Name: "p"}},
		}},
		failure: probe.Refused, problem: "refused the connection on 10.0.0.3:8080: nothing listens there",
	}
	unnamed, selected, stray := refused, refused, silence{question: refused.question}
	unnamed.Target.Port.Name, selected.Selected, stray.stray = "", true, true
	selectedStray := stray
	selectedStray.Selected = true
	tests := map[string]struct {
		kind   string
		silent []silence
		want   string
	}{
		"of a page": {
			criticalv2.FallbackKindPage, []silence{refused},
			`port "http" (80): Pod "p" refused the connection on 10.0.0.3:8080: nothing listens there. ` +
				"Check the responder Pods' logs, and that no NetworkPolicy blocks the operator.",
		},
		"of a Pod, on two ports": {
			criticalv2.FallbackKindPodTemplate, []silence{unnamed, refused},
			`port 80: Pod "p" refused the connection on 10.0.0.3:8080: nothing listens there (and 1 more). ` +
				"Check that the PodTemplate declares the ports on which its containers listen, and that no NetworkPolicy blocks the operator.",
		},
		"of a backup Service": {
			criticalv2.FallbackKindService, []silence{refused},
			`port "http" (80): Pod "p" refused the connection on 10.0.0.3:8080: nothing listens there. ` +
				`Check that the Pods of backup Service "spare" listen there, and that no NetworkPolicy blocks the operator.`,
		},
		"of a Pod that the Service selects, beside a page": {
			criticalv2.FallbackKindPage, []silence{selected},
			`port "http" (80): Pod "p" refused the connection on 10.0.0.3:8080: nothing listens there. ` +
				"Clients of the Service are sent there: check that a container of its PodTemplate listens on that port, " +
				"and that no NetworkPolicy blocks the operator.",
		},
		"of an address that the Service's own slices say is its fallback's": {
			"", []silence{selectedStray},
			`port "http" (80): 10.0.0.3:8080 is published, and no Pod has this address. ` +
				"Check the EndpointSlices of the Service: those that Kubernetes maintains have addresses of Pods only.",
		},
		"of an address in a backup Service that is no Pod's": {
			criticalv2.FallbackKindService, []silence{stray},
			`port "http" (80): 10.0.0.3:8080 is published, and no Pod has this address. ` +
				`Check the EndpointSlices of backup Service "spare": those that Kubernetes maintains have addresses of Pods only.`,
		},
		"of any other address that is no Pod's": {
			criticalv2.FallbackKindPage, []silence{stray},
			`port "http" (80): 10.0.0.3:8080 is published, and no Pod has this address. ` +
				`If the operator does not remove it, delete EndpointSlice "web-standby-ipv4": it is created again.`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := silenceOf(&decide.Snapshot{Standby: []discoveryv1.EndpointSlice{slice(test.kind)}}, test.silent)
			g.Expect(found.Message).To(Equal(test.want))
			g.Expect(found.Port).To(BeEquivalentTo(80))
			g.Expect(found.More).To(Equal(len(test.silent) - 1))
		})
	}
	NewWithT(t).Expect(silenceOf(&decide.Snapshot{}, nil)).To(BeNil())
}

// The condition names the first Service only; each has a result of its own.
func TestASilenceIsKnownOfEachService(t *testing.T) {
	silent := &criticalv2.Failover{Status: metav1.ConditionFalse, Reason: criticalv2.ConditionReasonStandbySilent}
	blocked := &criticalv2.Failover{Status: metav1.ConditionFalse, Reason: criticalv2.ConditionReasonNotProtected}
	policy := &criticalv2.CriticalService{Status: criticalv2.ProtectionStatus{Details: []criticalv2.ServiceStatus{
		{Namespace: "shop", Name: "first", Failover: silent}, {Namespace: "shop", Name: "second", Failover: silent},
		{Namespace: "shop", Name: "blocked", Failover: blocked}, {Namespace: "shop", Name: "ignored"},
	}}}
	for name, want := range map[string]bool{"first": true, "second": true, "blocked": false, "ignored": false, "unlisted": false} {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		NewWithT(t).Expect(reportedSilent(policy, service)).To(Equal(want), name)
	}
}

func TestWhatIsNewAboutAStandby(t *testing.T) {
	before := &discoveryv1.EndpointSlice{
		Ports: []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(20000))}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"10.0.0.3"}, TargetRef: &corev1.ObjectReference{UID: "one"},
			Conditions: discoveryv1.EndpointConditions{Ready: new(false)},
		}},
	}
	tests := map[string]struct {
		change func(*discoveryv1.EndpointSlice)
		same   bool
	}{
		"nothing":             {func(*discoveryv1.EndpointSlice) {}, true},
		"it is promoted":      {func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Ready = new(true) }, true},
		"a note":              {func(s *discoveryv1.EndpointSlice) { s.Annotations = map[string]string{"a": "b"} }, true},
		"another address":     {func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{"10.0.0.4"} }, false},
		"another Pod":         {func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].TargetRef.UID = "two" }, false},
		"no endpoint":         {func(s *discoveryv1.EndpointSlice) { s.Endpoints = nil }, false},
		"another number":      {func(s *discoveryv1.EndpointSlice) { s.Ports[0].Port = new(int32(20001)) }, false},
		"it says HTTP now":    {func(s *discoveryv1.EndpointSlice) { s.Ports[0].AppProtocol = new("http") }, false},
		"of another kind now": {func(s *discoveryv1.EndpointSlice) { s.Labels = map[string]string{criticalv2.LabelFallbackKind: "page"} }, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			after := before.DeepCopy()
			test.change(after)
			NewWithT(t).Expect(samePublished(before, after)).To(Equal(test.same))
		})
	}
}

// Only the service controller asks whose the Pod is that holds the fallback's name.
func TestALookAtCachesAsksNothing(t *testing.T) {
	g := NewWithT(t)
	key := types.NamespacedName{Namespace: "shop", Name: "web"}
	observer, _ := observetest.Of(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	observer.Memory.Attempts.Set(key, decide.Attempt{Reason: criticalv2.ReasonNameTaken})
	tester := &Reconciler{Observer: observer, Every: time.Minute}
	_, err := tester.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(observer.Memory.Attempts.Get(key)).NotTo(BeNil())
}
