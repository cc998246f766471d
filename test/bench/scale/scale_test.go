package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/bench/measure"

	"github.com/critical-service/operator/test/bench/fakenode"
)

func TestWorldsAreParsed(t *testing.T) {
	g := NewWithT(t)
	g.Expect(parseWorlds("1x1000,200x5:fake")).To(Equal([]world{{1, 1000, false}, {200, 5, true}}))
	for _, text := range []string{"", "1000", "0x5", "1x0", "1x5x", "1x5:real", "2x40000"} {
		_, err := parseWorlds(text)
		g.Expect(err).To(MatchError(ContainSubstring("--worlds")), text)
	}
}

const operatorMetrics = `# HELP rest_client_requests_total Number of HTTP requests
# TYPE rest_client_requests_total counter
rest_client_requests_total{code="200",host="a",method="GET"} 5
rest_client_requests_total{code="404",host="a",method="GET"} 2
rest_client_requests_total{code="200",host="a",method="PATCH"} 1000
# TYPE critical_service_writes_total counter
critical_service_writes_total{kind="EndpointSlice",result="ok",verb="patch"} 999
critical_service_writes_total{kind="EndpointSlice",result="ok",verb="create"} 1
critical_service_writes_total{kind="EndpointSlice",result="late",verb="patch"} 3
critical_service_writes_total{kind="Pod",result="ok",verb="create"} 7
# TYPE critical_service_state gauge
critical_service_state{service="a"} 1
`

const serverMetricsText = `# TYPE apiserver_request_total counter
apiserver_request_total{verb="GET",resource="services"} 3
apiserver_request_total{verb="LIST",resource="endpointslices"} 4
apiserver_request_total{verb="WATCH",resource="endpointslices"} 50
apiserver_request_total{verb="GET",resource="pods"} 60
`

func TestACostIsTheDifferenceOfTwoCounts(t *testing.T) {
	g := NewWithT(t)
	var before, after counters
	g.Expect(before.ofOperator([]byte(operatorMetrics))).To(Succeed())
	g.Expect(before.ofServer([]byte(serverMetricsText))).To(Succeed())
	g.Expect(before).To(Equal(counters{methods: measure.Requests{"GET": 7, "PATCH": 1000}, sliceWrites: 1000, late: 3, reads: 7}))

	g.Expect(after.ofOperator([]byte(strings.ReplaceAll(operatorMetrics, "999", "1001")))).To(Succeed())
	g.Expect(after.ofServer([]byte(strings.ReplaceAll(serverMetricsText, "} 3", "} 13")))).To(Succeed())
	after.methods["POST"], after.scrapeSize = 4, 80
	spent := difference(before, after, measure.Process{CPU: time.Second, RSS: 5}, measure.Process{CPU: 3 * time.Second, RSS: 4, Peak: 9})
	g.Expect(spent).To(Equal(cost{cpu: 2 * time.Second, rss: 4, peak: 9, counters: counters{
		methods: measure.Requests{"POST": 4}, sliceWrites: 2, reads: 10, scrapeSize: 80,
	}}))
	g.Expect(before.methods).To(HaveKeyWithValue("GET", 7), "the counts stay as they are")

	g.Expect(before.ofOperator(nil)).To(MatchError(ContainSubstring("rest_client_requests_total")))
	g.Expect(before.ofServer(nil)).To(MatchError(ContainSubstring("do not count")))
}

// seen is a tracker with one Service, whose changes come a second apart.
type seen struct {
	*tracker
	now time.Time
	key types.NamespacedName
}

func (s *seen) change(kind watch.EventType, manager, name string, ready ...bool) {
	slice := newSlice(s.key, name, manager)
	for _, is := range ready {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Conditions: discoveryv1.EndpointConditions{Ready: new(is)}})
	}
	s.now = s.now.Add(time.Second)
	s.slice(kind, slice, s.now)
}

func TestTheTrackerFollowsTheSlicesOfAService(t *testing.T) {
	g := NewWithT(t)
	s := &seen{tracker: newTracker(), now: time.Unix(0, 0), key: types.NamespacedName{Namespace: "a", Name: "web"}}
	s.expect(s.key)
	holds := func(what func(*protected) bool) bool { return s.count(what) == 1 }

	s.change(watch.Added, managedByKubernetes, "kubernetes")
	s.change(watch.Added, managedByBench, "app", true)
	s.change(watch.Added, criticalv2.ManagedBy, "standby-ipv4") // It asks for a standby, and publishes none.
	g.Expect(holds(unarmed)).To(BeTrue())
	s.change(watch.Added, criticalv2.ManagedBy, "pod-1", false)
	g.Expect(holds(armed)).To(BeFalse(), "one of two replicas")
	s.change(watch.Added, criticalv2.ManagedBy, "pod-2", false)
	g.Expect(holds(armed)).To(BeTrue())
	g.Expect(s.kubernetesSlices()).To(Equal(1))

	s.begin()
	s.change(watch.Modified, managedByBench, "app", false)
	s.change(watch.Modified, managedByBench, "app", false) // Another change of it says nothing new.
	s.change(watch.Modified, criticalv2.ManagedBy, "pod-1", true)
	g.Expect(holds(is(true))).To(BeFalse(), "one of two slices")
	s.change(watch.Modified, criticalv2.ManagedBy, "pod-2", true)
	s.change(watch.Modified, criticalv2.ManagedBy, "pod-2", true)
	g.Expect(holds(is(true))).To(BeTrue())
	first, last := s.latencies()
	g.Expect(first).To(Equal([]time.Duration{2 * time.Second}))
	g.Expect(last).To(Equal([]time.Duration{3 * time.Second}))
	g.Expect(s.slicesTurned()).To(Equal(2))

	s.begin()
	g.Expect(holds(followed(true))).To(BeFalse(), "its application did not change in this phase")
	s.change(watch.Modified, managedByBench, "app", true)
	g.Expect(holds(followed(false))).To(BeFalse())
	s.change(watch.Modified, criticalv2.ManagedBy, "pod-1", false)
	s.change(watch.Modified, criticalv2.ManagedBy, "pod-2", false)
	g.Expect(holds(followed(false))).To(BeTrue())

	s.begin()
	begin := s.now
	s.change(watch.Deleted, criticalv2.ManagedBy, "pod-1", true)
	s.change(watch.Deleted, criticalv2.ManagedBy, "pod-2", true)
	g.Expect(holds(unarmed)).To(BeTrue())
	g.Expect(s.since(begin)).To(Equal([]time.Duration{2 * time.Second}))
	s.key.Name = "another"
	s.change(watch.Added, criticalv2.ManagedBy, "pod-1", true)
	g.Expect(holds(unarmed)).To(BeTrue(), "a Service of another user")
}

func TestAPodOfTheFakeNodeIsReadyWhenItsGatesAreOpen(t *testing.T) {
	g := NewWithT(t)
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		Containers:     []corev1.Container{{Name: "responder"}},
		ReadinessGates: []corev1.PodReadinessGate{{ConditionType: criticalv2.ConditionPublished}},
	}}
	fakenode.Run(pod, "198.19.0.1")
	g.Expect(fakenode.HasCondition(pod, corev1.ContainersReady)).To(BeTrue())
	g.Expect(fakenode.HasCondition(pod, corev1.PodReady)).To(BeFalse())
	g.Expect(containersReady([]corev1.Pod{{}, *pod})).NotTo(BeZero())
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: criticalv2.ConditionPublished, Status: corev1.ConditionTrue})
	fakenode.Run(pod, "198.19.0.1")
	g.Expect(fakenode.HasCondition(pod, corev1.PodReady)).To(BeTrue())
	g.Expect(pod.Status.Conditions).To(HaveLen(4), "no condition twice")
}

// example is a result of 1,000 Services that meets all targets.
func example() result {
	turn := func(name string) measured {
		return measured{name: name, last: []time.Duration{time.Millisecond}, turned: 2000, events: 1000, cost: cost{
			cpu: time.Second, rss: 100 << 20, counters: counters{sliceWrites: 2000, methods: measure.Requests{"PATCH": 2000, "POST": 1000}},
		}}
	}
	start := time.Unix(0, 0)
	return result{world: world{1, 1000, false}, load: "0.10", phases: []measured{
		{name: phaseArm, start: start, end: start.Add(time.Second)}, turn(phaseFail), turn(phaseRecover),
		{name: phaseDelete, start: start.Add(time.Second), end: start.Add(2 * time.Second)},
	}, moments: []moment{{at: start.Add(time.Second), armed: 1000, cpu: 0.5}}}
}

func TestOnlyATargetThatIsCountedFailsTheRun(t *testing.T) {
	tests := map[string]struct {
		spoil   func(phase *measured)
		printed string
		problem string
	}{
		"all is met": {spoil: func(*measured) {}},
		"a time is missed": {
			spoil: func(m *measured) { m.last[0] = 2 * time.Second }, printed: "promotion, p99: 2.00 s, and should be 0.3 s",
		},
		"a read is missed": {
			spoil: func(m *measured) { m.cost.reads = 3000 }, printed: "reads per promotion: 3.00, and should be 0", problem: "1 of 13 targets",
		},
		"a slice was written twice": {
			spoil: func(m *measured) { m.cost.late = 100 }, printed: "writes per slice and promotion: 1.05", problem: "1 of 13 targets",
		},
		"an event is missing": {
			spoil: func(m *measured) { m.events = 0 }, printed: "events per promotion: 0.00", problem: "1 of 13 targets",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := example()
			test.spoil(&r.phases[1])
			var printed bytes.Buffer
			err := measure.Missed(&printed, judge([]result{r}))
			g.Expect(printed.String()).To(ContainSubstring(test.printed))
			if test.problem == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(test.problem)))
		})
	}
}

func TestTargetsAreOfWorldsOfTheirSize(t *testing.T) {
	g := NewWithT(t)
	small, large := example(), example()
	large.world = world{1, 10000, true}
	var ofLarge []string
	for _, v := range judge([]result{small, large}) {
		if v.Of == large.world.String() {
			ofLarge = append(ofLarge, v.What)
		}
	}
	g.Expect(ofLarge).To(ContainElements("RSS", "reads per demotion"))
	g.Expect(ofLarge).NotTo(ContainElement("promotion, p99"))
}

func TestTheTablesHoldWhatWasMeasured(t *testing.T) {
	g := NewWithT(t)
	r := example()
	text := markdown("v1.37.1", []result{r}, judge([]result{r}))
	g.Expect(text).To(ContainSubstring("**1 namespace x 1000 Services**, responders on the real node, self-test on"))
	g.Expect(text).To(ContainSubstring("| fail |  | 0.00 / 0.00 / 0.00 s | 0 | 2000 (0) | 1000 | PATCH 2000, POST 1000 | 1.00 s | 100 MiB"))
	g.Expect(text).To(ContainSubstring("| requests of one failover | 605 | 3.00 |"))
	g.Expect(text).To(ContainSubstring("| start until an outage is acted on | 95 to 109 s, 40,604 requests |  |"), "the phase was not measured")
	g.Expect(text).To(ContainSubstring("| CPU per promotion | 1 x 1000 | 3 ms | 1.0 ms | met |"))
	drawn, err := draw(r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(drawn).To(ContainSubstring("1000 Services over time, in the phases arm, fail, recover, delete"))
}
