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

func TestOtherWordsOfAServerAreNoNews(t *testing.T) {
	const a = `port "http" (80): Pod "p" answered on 10.0.0.3:80, but not in http: it said "220 \"mail\" at 19:44". Fix it.`
	tests := map[string]struct {
		b    string
		same bool
	}{
		"the same":           {a, true},
		"another time":       {`port "http" (80): Pod "p" answered on 10.0.0.3:80, but not in http: it said "220 \"mail\" at 19:45". Fix it.`, true},
		"another Pod":        {`port "http" (80): Pod "q" answered on 10.0.0.3:80, but not in http: it said "220 \"mail\" at 19:44". Fix it.`, false},
		"one more is silent": {`port "http" (80): Pod "p" answered on 10.0.0.3:80, but not in http: it said "220 \"mail\" at 19:44" (and 1 more). Fix it.`, false},
		"it answers":         {"", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(sameProblem(a, test.b)).To(Equal(test.same))
		})
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
