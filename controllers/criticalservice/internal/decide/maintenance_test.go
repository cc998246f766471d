package decide_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
)

// moving announces a maintenance that ends after a time.
func moving(left time.Duration) option {
	return maintained("plan", saying("We move house."), until(left))
}

func endless(s *decide.Snapshot) { maintained("plan")(s) }

func gone(s *decide.Snapshot) { endpoints()(s) }

func TestMaintenance(t *testing.T) {
	table{
		"before the application leaves, it keeps the traffic": {
			snapshot(toPage(), responder(readyPod), endless, armed),
			"Armed/Maintenance",
		},
		"what is announced is written on the slice": {
			snapshot(toPage(), responder(readyPod), armed, moving(time.Hour)),
			"Armed/Maintenance, publish shop-standby-ipv4[page], recheck 1h0m0s",
		},
		"once the application has left, the page answers": {
			snapshot(toPage(), responder(readyPod), moving(time.Hour), armed, gone, published),
			"Covered/Maintenance, recheck 1h0m0s",
		},
		"a maintenance waits for no delay": {
			snapshot(toPage(), delays(time.Minute, 0), responder(readyPod), endless, armed, gone),
			"Covered/Maintenance, publish shop-standby-ipv4/responder-1[page on 20000, ready]",
		},
		"a Pod on demand gives way to the page": {
			snapshot(toPod(criticalv2.ActivationOnDemand), responder(readyPod), endpoints(ready("shop-1")), endless),
			"Arming/SlicePending, publish shop-standby-ipv4[page], publish shop-standby-ipv4/responder-1[page on 20000]",
		},
		"a Pod that is selected by its labels gives way to the page": {
			snapshot(responder(readyPod), endless, armed, gone),
			"Covered/Maintenance, publish shop-standby-ipv4/responder-1[page on 20000, ready]",
		},
		"a backup Service gives way to the page": {
			snapshot(toService("spare"), backup("spare-1"), armed, responder(readyPod), endless),
			"Armed/Maintenance, publish shop-standby-ipv4[page: spare-1 on 9000], publish shop-standby-ipv4/responder-1[page on 20000]",
		},
		"the page has to be prepared first": {
			snapshot(toPage(), endpoints(ready("shop-1")), endless),
			"Arming/ResponderStarting, publish shop-standby-ipv4[page], recheck 1m0s",
		},
		"what answers in an outage goes on until the page can": {
			snapshot(toPod(criticalv2.ActivationOnDemand), slicePod(readyPod), endpoints(), published, responder(starting), endless, published),
			"Covered/FallbackServing",
		},
		"a backup Service stands by until the page can": {
			snapshot(toService("spare"), backup("spare-1"), armed, endless),
			"Armed/StandbyReady, publish shop-standby-ipv4[page: spare-1 on 9000]",
		},
		"a backup Service answers until the page can": {
			snapshot(toService("spare"), backup("spare-1"), armed, endless, gone),
			"Covered/StandbyServing, publish shop-standby-ipv4[page: spare-1 on 9000, ready]",
		},
		"a Pod that stands by does so until the page can": {
			snapshot(toPod(criticalv2.ActivationStandby), slicePod(readyPod), armed, endless),
			"Armed/StandbyReady, publish shop-standby-ipv4[page]",
		},
		"a Pod is made on demand while the page cannot answer": {
			snapshot(toPod(criticalv2.ActivationOnDemand), endpoints(), endless),
			"Exposed/FallbackStarting, publish shop-standby-ipv4[page], create service-watcher-shop, recheck 1s",
		},
		"a Pod that is selected by its labels is made while the page cannot answer": {
			snapshot(endpoints(), endless),
			"Exposed/FallbackStarting, publish shop-standby-ipv4[page], create service-watcher-shop, recheck 1s",
		},
		"content of the team that is not valid does not matter beside a message": {
			snapshot(toContent("ours"), responder(readyPod), moving(time.Hour), armed),
			"Armed/Maintenance, recheck 1h0m0s",
		},
		"content of the team that is not valid matters without a message": {
			snapshot(toContent("ours"), responder(readyPod), endless, armed),
			"Armed/PageContentInvalid",
		},
		"a headless Service keeps its own fallback": {
			snapshot(toPod(criticalv2.ActivationStandby), service(headless), slicePod(readyPod), responder(readyPod), endless, armed),
			"Armed/Maintenance",
		},
		"a Service with UDP ports only keeps its own fallback": {
			snapshot(toPod(criticalv2.ActivationStandby), service(func(s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolUDP }),
				slicePod(readyPod), endless, armed),
			"Armed/Maintenance",
		},
		"where no page can be served, a Service keeps its own fallback": {
			snapshot(toPod(criticalv2.ActivationStandby), func(s *decide.Snapshot) { s.Settings.NoResponder = "no image" }, slicePod(readyPod), endless, armed),
			"Armed/Maintenance",
		},
		"a maintenance that is over goes on while the application is not back": {
			snapshot(toPage(), responder(readyPod), moving(time.Hour), armed, gone, published, later(time.Hour)),
			"Covered/Maintenance, recheck 5m0s",
		},
		"a maintenance that is over ends when the application is back": {
			snapshot(toPage(), responder(readyPod), moving(time.Hour), armed, later(time.Hour)),
			"Armed/StandbyReady, publish shop-standby-ipv4[page], recheck 5m0s",
		},
		"five minutes later no one waits for the application any more": {
			snapshot(toPage(), responder(readyPod), moving(time.Hour), armed, gone, published, later(time.Hour+5*time.Minute)),
			"Covered/FallbackServing, publish shop-standby-ipv4[page]",
		},
		"a drill changes nothing": {
			snapshot(toPage(), responder(readyPod), maintained("drill", drilling, takingAway), armed),
			"Armed/StandbyReady",
		},
		"one that is about to be deleted changes nothing": {
			snapshot(toPage(), responder(readyPod), maintained("plan", func(m *criticalv2.Maintenance) { m.DeletionTimestamp = new(metav1.NewTime(now)) }), armed),
			"Armed/StandbyReady",
		},
		"a window that runs is announced until its end": {
			snapshot(toPage(), responder(readyPod), maintained("plan", window(-time.Hour, time.Hour)), armed),
			"Armed/Maintenance, recheck 1h0m0s",
		},
		"a window whose message was just changed stays announced": {
			snapshot(toPage(), responder(readyPod), maintained("plan", window(-time.Hour, time.Hour), func(m *criticalv2.Maintenance) { m.Generation = 2 }), armed),
			"Armed/Maintenance, recheck 1h0m0s",
		},
		"between two windows nothing is announced": {
			snapshot(toPage(), responder(readyPod), maintained("plan", window(-3*time.Hour, -time.Hour)), armed),
			"Armed/StandbyReady",
		},
		"of several that are announced, the first by name counts": {
			snapshot(toPage(), responder(readyPod), maintained("b", until(time.Hour)), maintained("a", until(2*time.Hour)), armed),
			"Armed/Maintenance, recheck 1h0m0s",
		},
	}.run(t)
}

func TestWhatIsSaidOfAMaintenance(t *testing.T) {
	for sentence, c := range map[string]struct {
		snapshot decide.Snapshot
		want     string
	}{
		"how many endpoints still take the traffic": {
			snapshot(toPage(), responder(readyPod, readyPod), moving(time.Hour), func(s *decide.Snapshot) {
				endpoints(ready("shop-1"), ready("shop-2"), notReady("shop-3"))(s)
				published(s)
			}),
			`A maintenance is announced until 2026-11-20T13:00:00Z. 2 endpoints of the Service's own still take the traffic; ` +
				`Pod "responder-1" (and 1 more) would answer in their place at once.`,
		},
		"that one endpoint does": {
			snapshot(toPage(), responder(readyPod), endless, armed),
			`A maintenance is announced. 1 endpoint of the Service's own still takes the traffic; Pod "responder-1" would answer in their place at once.`,
		},
		"what answers": {
			snapshot(toPage(), responder(readyPod), moving(time.Hour), armed, gone, published),
			`A maintenance is announced until 2026-11-20T13:00:00Z; Pod "responder-1" answers.`,
		},
		"that the application is late": {
			snapshot(toPage(), responder(readyPod), moving(time.Hour), armed, gone, published, later(time.Hour)),
			`A maintenance was announced until 2026-11-20T13:00:00Z, and the application is not back yet; Pod "responder-1" answers.`,
		},
		"that its page is not prepared": {
			snapshot(toPage(), endpoints(ready("shop-1")), endless, published),
			`A maintenance is announced. The responder, Deployment "critical-service-responder" in namespace "web", is being made.`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			NewWithT(t).Expect(decide.Decide(c.snapshot).Message).To(Equal(c.want))
		})
	}
}

func TestAnOutageIsPlanned(t *testing.T) {
	g := NewWithT(t)
	s := snapshot(toPage(), responder(readyPod), armed, gone, published, maintained("plan", until(time.Hour), takingAway))
	plan := decide.Decide(s)
	g.Expect(plan.IsPlanned()).To(BeTrue())
	g.Expect(plan.Maintenance).NotTo(BeNil())

	armed(&s)
	g.Expect(decide.Decide(s).Maintenance).NotTo(BeNil())
}

func TestALiveDrillIsPlanned(t *testing.T) {
	g := NewWithT(t)
	drill := maintained("drill", drilling, takingAway, until(5*time.Minute))
	s := snapshot(toPage(), responder(readyPod), armed, gone, published, drill)
	plan := decide.Decide(s)
	g.Expect(plan.IsPlanned()).To(BeTrue())
	g.Expect(plan.Drill).NotTo(BeNil())
	g.Expect(plan.Reason).To(Equal(criticalv2.ReasonFallbackServing), "the Service's own fallback is what is drilled")

	later(5 * time.Minute)(&s)
	late := decide.Decide(s)
	g.Expect(late.IsPlanned()).To(BeFalse(), "it should be over")
}

func TestTheSliceAnnouncesTheMaintenance(t *testing.T) {
	g := NewWithT(t)
	s := snapshot(toPage(), responder(readyPod), armed, moving(time.Hour))
	plan := decide.Decide(s)
	g.Expect(plan.Publish).To(HaveLen(1))
	g.Expect(plan.Publish[0].Annotations).To(HaveKeyWithValue(
		criticalv2.AnnotationMaintenance, `{"message":"We move house.","until":"2026-11-20T13:00:00Z"}`))

	published(&s)
	s.Maintenances = nil
	g.Expect(decide.Decide(s).Publish[0].Annotations).NotTo(HaveKey(criticalv2.AnnotationMaintenance), "it goes with the maintenance")
}
