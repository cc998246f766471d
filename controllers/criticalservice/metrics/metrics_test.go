package metrics

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/internal/controller/write"
	"github.com/critical-service/operator/test/metrictable"
)

// measuredWorld is a registry of an operator whose caches hold Service shop/web,
// which has one ready endpoint of its own and a standby, and what governs it.
func measuredWorld(t *testing.T, leads <-chan struct{}) (*prometheus.Registry, client.Client, observe.Observer) {
	t.Helper()
	g := NewWithT(t)
	meta := func(name string, labels map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels}
	}
	web := map[string]string{discoveryv1.LabelServiceName: "web"}
	standby := map[string]string{
		discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: criticalv2.ManagedBy,
		criticalv2.LabelFallbackKind: criticalv2.FallbackKindPage,
	}
	ports := []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)}}
	one := []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}}
	spare := []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.2"}, Conditions: discoveryv1.EndpointConditions{Ready: new(false)}}}
	watched, caches := observetest.Of(t,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
		&corev1.Service{ObjectMeta: meta("web", map[string]string{"role": "frontend"}), Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}},
		}},
		&discoveryv1.EndpointSlice{ObjectMeta: meta("web-1", web), AddressType: discoveryv1.AddressTypeIPv4, Ports: ports, Endpoints: one},
		&discoveryv1.EndpointSlice{ObjectMeta: meta("web-standby-ipv4", standby), AddressType: discoveryv1.AddressTypeIPv4, Ports: ports, Endpoints: spare},
		&criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "storefront"}, Spec: criticalv2.CriticalServiceSpec{
			ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "frontend"}},
			ProtectionSpec:  criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{}}},
		}, Status: criticalv2.ProtectionStatus{Outages: pastOutages(4)}},
		&criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "too-late-by-name"}, Spec: criticalv2.CriticalServiceSpec{
			ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "frontend"}},
			ProtectionSpec:  criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{}}},
		}},
	)
	registry, measured := prometheus.NewRegistry(), New(watched.Memory)
	g.Expect(measured.Register(registry)).To(Succeed())
	g.Expect(registry.Register(measured.Gauges(watched, leads))).To(Succeed())
	writer, err := write.Counted(caches, registry)
	g.Expect(err).NotTo(HaveOccurred())
	judge(t, watched)
	return registry, writer, watched
}

// pastOutages of Service shop/web, of a minute each, of which the latest began just now.
func pastOutages(count int) (outages []criticalv2.Outage) {
	for i := range count {
		began := time.Now().Add(-time.Duration(i) * time.Hour)
		outages = append(outages, criticalv2.Outage{
			Namespace: "shop", Name: "web", Began: metav1.NewMicroTime(began),
			Covered: new(metav1.NewMicroTime(began.Add(time.Second))), Ended: new(metav1.NewMicroTime(began.Add(time.Minute))),
		})
	}
	return outages
}

// judge stores what is decided about Service shop/web by what the caches hold.
func judge(t *testing.T, watched observe.Observer) {
	t.Helper()
	snap, err := watched.ObserveCached(t.Context(), web)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	plan := decide.Decide(snap)
	watched.Memory.Judgements.Set(web, *summary.Judge(&snap, &plan))
}

func closed() <-chan struct{} {
	leads := make(chan struct{})
	close(leads)
	return leads
}

func TestTheTableOfMetricsIsWhatIsRegistered(t *testing.T) {
	g := NewWithT(t)
	registry, writer, watched := measuredWorld(t, closed())
	watched.Memory.Checks.Set(web, summary.Check{Asked: 1})
	judged := watched.Memory.Judgements.Get(web).Judgement
	judged.Maintenance = true
	watched.Memory.Judgements.Set(web, judged)
	g.Expect(write.Create(t.Context(), writer, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "fallback"}})).To(Succeed())
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	metrictable.Check(g, "Services and outages", families)
	series := 0
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if slices.ContainsFunc(metric.GetLabel(), func(label *dto.LabelPair) bool { return label.GetName() == labelService }) {
				series++
			}
		}
	}
	g.Expect(series).To(Equal(8), "a Service that is tested, in maintenance and has had outages has as many series as one can have")
}

// A Service that is not judged yet has no series, which does not mean that it is gone.
func TestASeriesThatIsMissingAtAStartIsNotOneThatIsGone(t *testing.T) {
	g := NewWithT(t)
	registry, _, watched := measuredWorld(t, closed())
	settled := func() float64 {
		families, err := registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		for _, family := range families {
			if family.GetName() == prefix+"settled" {
				return family.GetMetric()[0].GetGauge().GetValue()
			}
		}
		return -1
	}
	g.Expect(settled()).To(Equal(0.0))
	for _, policy := range []string{"storefront", "too-late-by-name"} {
		g.Expect(settled()).To(Equal(0.0), "%s waits for a Service", policy)
		watched.Memory.Statuses.Set(types.NamespacedName{Name: policy}, memory.Status{Settled: summary.Policy{Key: types.NamespacedName{Name: policy}, Generation: 7}})
	}
	g.Expect(settled()).To(Equal(1.0), "that a spec changed later does not matter")
}

func TestOnlyTheReplicaThatLeadsHasMetricsOfServices(t *testing.T) {
	g := NewWithT(t)
	leads := make(chan struct{})
	registry, _, _ := measuredWorld(t, leads)
	gathered := func() []string {
		families, err := registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, family := range families {
			names = append(names, family.GetName())
		}
		return names
	}
	g.Expect(gathered()).NotTo(ContainElement(prefix + "state"))
	close(leads)
	g.Expect(gathered()).To(ContainElements(prefix+"state", prefix+"outages_total"))
}

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

// at is a moment, some seconds after a first one.
func at(seconds int) *metav1.MicroTime {
	return new(metav1.NewMicroTime(time.Unix(1_800_000_000+int64(seconds), 0)))
}

// governor is a CriticalService with a history.
func governor(outages ...criticalv2.Outage) *criticalv2.CriticalService {
	return &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: "storefront"}, Status: criticalv2.ProtectionStatus{Outages: outages},
	}
}

// verdict is what was decided about Service shop/web.
func verdict(governor *criticalv2.CriticalService, state criticalv2.ServiceState) []summary.Verdict {
	return []summary.Verdict{{Judgement: judgement(governor, state)}}
}

func judgement(governor *criticalv2.CriticalService, state criticalv2.ServiceState) summary.Judgement {
	return summary.Judgement{Service: web, State: state, Matching: []summary.Policy{summary.PolicyOf(governor)}}
}

func TestWhatTheHistoryCounts(t *testing.T) {
	outage := func(began int, covered, ended *metav1.MicroTime) criticalv2.Outage {
		made := criticalv2.Outage{Namespace: "shop", Name: "web", Began: *at(began), Covered: covered, Ended: ended}
		if covered != nil {
			made.Fallback = criticalv2.FallbackKindPage
		}
		return made
	}
	type status = []criticalv2.Outage
	tests := map[string]struct {
		before, after                 status
		outages                       int
		covered, ended, endedUnhelped string
	}{
		"nothing happened":                     {nil, nil, 0, "0 in 0s", "0 in 0s", "0 in 0s"},
		"an outage begins":                     {nil, status{outage(0, nil, nil)}, 1, "0 in 0s", "0 in 0s", "0 in 0s"},
		"a standby covers it at once":          {nil, status{outage(0, at(0), nil)}, 1, "1 in 0s", "0 in 0s", "0 in 0s"},
		"a fallback covers it":                 {status{outage(0, nil, nil)}, status{outage(0, at(3), nil)}, 0, "1 in 3s", "0 in 0s", "0 in 0s"},
		"it ends":                              {status{outage(0, at(3), nil)}, status{outage(0, at(3), at(60))}, 0, "0 in 0s", "1 in 1m0s", "0 in 0s"},
		"it ends, and nothing answered":        {status{outage(0, nil, nil)}, status{outage(0, nil, at(7))}, 0, "0 in 0s", "0 in 0s", "1 in 7s"},
		"an operator starts in an outage":      {status{outage(0, at(3), nil)}, status{outage(0, at(3), nil)}, 0, "0 in 0s", "0 in 0s", "0 in 0s"},
		"the next one begins":                  {status{outage(0, at(3), at(60))}, status{outage(90, nil, nil), outage(0, at(3), at(60))}, 1, "0 in 0s", "0 in 0s", "0 in 0s"},
		"an old one is forgotten":              {status{outage(0, at(3), at(60))}, nil, 0, "0 in 0s", "0 in 0s", "0 in 0s"},
		"one comes and goes between two looks": {nil, status{outage(0, at(1), at(2))}, 1, "1 in 1s", "1 in 2s", "0 in 0s"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			known, policy := &memory.Memory{}, governor(test.before...)
			measured := New(known)
			known.Judgements.Set(web, judgement(policy, criticalv2.StateArmed))
			measured.Follow(policy, &criticalv2.ProtectionStatus{Outages: test.after}, verdict(policy, criticalv2.StateArmed))
			g.Expect(known.Judgements.Get(web).Outages).To(Equal(test.outages))
			g.Expect(observed(g, measured.covers, criticalv2.FallbackKindPage)).To(Equal(test.covered), "covered")
			g.Expect(observed(g, measured.durations, criticalv2.FallbackKindPage)).To(Equal(test.ended), "ended")
			g.Expect(observed(g, measured.durations, noFallback)).To(Equal(test.endedUnhelped), "ended without a fallback")
		})
	}
}

// An outage that only leaves the list of a CriticalService has no duration.
func TestOnlyARecoveryEndsADuration(t *testing.T) {
	other := governor()
	other.Name = "a-comes-first"
	tests := map[string]struct {
		verdicts []summary.Verdict
		want     string
	}{
		"the Service answers by itself":                     {verdict(governor(), criticalv2.StateArmed), "1 in 1m0s"},
		"it does, and the next fallback is not prepared":    {verdict(governor(), criticalv2.StateArming), "1 in 1m0s"},
		"another CriticalService governs, in the outage":    {verdict(other, criticalv2.StateCovered), "0 in 0s"},
		"another CriticalService governs, which is all":     {verdict(other, criticalv2.StateArmed), "0 in 0s"},
		"the Service is ignored from now on":                {verdict(governor(), criticalv2.StateIgnored), "0 in 0s"},
		"the Service is deleted, or does not match anymore": {nil, "0 in 0s"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			measured := New(&memory.Memory{})
			was := criticalv2.Outage{
				Namespace: web.Namespace, Name: web.Name, Began: *at(0), Covered: at(3), Fallback: criticalv2.FallbackKindPage,
			}
			ended := was
			ended.Ended = at(60)
			measured.Follow(governor(was), &criticalv2.ProtectionStatus{Outages: []criticalv2.Outage{ended}}, test.verdicts)
			g.Expect(observed(g, measured.durations, criticalv2.FallbackKindPage)).To(Equal(test.want))
		})
	}
}

// A Pod that is made in an outage needs time. If it answered when the outage was first
// seen, it is not known how much.
func TestTheTimeToCoverIsOneThatWasSeen(t *testing.T) {
	pod, page := criticalv2.FallbackKindPodTemplate, criticalv2.FallbackKindPage
	tests := map[string]struct {
		kind       string
		activation criticalv2.Activation
		seenBefore bool
		covered    int
		want       string
	}{
		"a page stood by":                             {page, "", false, 0, "1 in 0s"},
		"a Pod stood by":                              {pod, criticalv2.ActivationStandby, false, 0, "1 in 0s"},
		"a Pod was made before it was observed":       {pod, criticalv2.ActivationOnDemand, false, 0, "0 in 0s"},
		"a Pod was made, as is the default":           {pod, "", false, 0, "0 in 0s"},
		"a Pod was made, and the status said so late": {pod, criticalv2.ActivationOnDemand, false, 4, "1 in 4s"},
		"the outage was known when the Pod answered":  {pod, criticalv2.ActivationOnDemand, true, 4, "1 in 4s"},
		"it was known, by a clock that was ahead":     {pod, criticalv2.ActivationOnDemand, true, 0, "1 in 0s"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			measured, policy := New(&memory.Memory{}), governor()
			if test.kind == pod {
				policy.Spec.Fallback.PodTemplate = &criticalv2.PodTemplateFallback{Activation: test.activation}
			}
			outage := criticalv2.Outage{Namespace: web.Namespace, Name: web.Name, Began: *at(0)}
			if test.seenBefore {
				policy.Status.Outages = []criticalv2.Outage{outage}
			}
			outage.Covered, outage.Fallback = at(test.covered), test.kind
			measured.Follow(policy, &criticalv2.ProtectionStatus{Outages: []criticalv2.Outage{outage}}, verdict(policy, criticalv2.StateCovered))
			g.Expect(observed(g, measured.covers, test.kind)).To(Equal(test.want))
		})
	}
}

func TestWhatCountsAsAnActivation(t *testing.T) {
	pod, page := criticalv2.FallbackKindPodTemplate, criticalv2.FallbackKindPage
	created := Activation{Created: true}
	// A step is what was done while the Service had some ready endpoints of its own.
	type step struct {
		ready int
		done  Activation
	}
	tests := map[string]struct {
		steps []step
		want  map[[2]string]float64
	}{
		"a Pod is made in an outage":   {[]step{{0, created}}, map[[2]string]float64{{pod, resultCreated}: 1}},
		"a Pod is made, to stand by":   {[]step{{2, created}}, nil},
		"a Pod is denied in an outage": {[]step{{0, Activation{Denied: pod}}}, map[[2]string]float64{{pod, resultDenied}: 1}},
		"a Pod that is to stand by is denied": {
			[]step{{2, Activation{Denied: pod}}, {2, Activation{Denied: pod}}}, nil,
		},
		"a Pod is denied again and again": {
			[]step{{0, Activation{Denied: pod}}, {0, Activation{}}, {0, Activation{Denied: pod}}}, map[[2]string]float64{{pod, resultDenied}: 1},
		},
		"a Pod that was to stand by is denied in the outage too": {
			[]step{{2, Activation{Denied: pod}}, {0, Activation{Denied: pod}}, {0, Activation{Denied: pod}}}, map[[2]string]float64{{pod, resultDenied}: 1},
		},
		"a Pod is denied in two outages": {
			[]step{{0, Activation{Denied: pod}}, {1, Activation{}}, {0, Activation{Denied: pod}}}, map[[2]string]float64{{pod, resultDenied}: 2},
		},
		"a Pod is denied, and then the page that is to answer instead": {
			[]step{{0, Activation{Denied: pod}}, {0, Activation{Denied: page}}}, map[[2]string]float64{{pod, resultDenied}: 1, {page, resultDenied}: 1},
		},
		"a Pod is denied and then made": {
			[]step{{0, Activation{Denied: pod}}, {0, created}}, map[[2]string]float64{{pod, resultDenied}: 1, {pod, resultCreated}: 1},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			measured := New(&memory.Memory{})
			for _, step := range test.steps {
				step.done.InOutage = step.ready == 0
				measured.Activated(web, step.done)
			}
			for _, kind := range []string{pod, page} {
				for _, result := range []string{resultCreated, resultDenied} {
					var metric dto.Metric
					g.Expect(measured.activations.WithLabelValues(kind, result).Write(&metric)).To(Succeed())
					g.Expect(metric.GetCounter().GetValue()).To(Equal(test.want[[2]string{kind, result}]), "%s %s", kind, result)
				}
			}
		})
	}
}

// observed says what a histogram has seen, for example "1 in 3s".
func observed(g Gomega, histogram *prometheus.HistogramVec, kind string) string {
	var metric dto.Metric
	g.Expect(histogram.WithLabelValues(kind).(prometheus.Histogram).Write(&metric)).To(Succeed())
	return fmt.Sprintf("%d in %s", metric.GetHistogram().GetSampleCount(),
		time.Duration(metric.GetHistogram().GetSampleSum()*float64(time.Second)))
}

// Another user's Pod with the fallback's name is an endpoint of the Service's own. Who
// judges without a request uses what was found out last.
func TestAScrapeKnowsOfANameConflict(t *testing.T) {
	g := NewWithT(t)
	registry, writer, watched := measuredWorld(t, closed())
	key := types.NamespacedName{Namespace: "shop", Name: "web"}
	slice := &discoveryv1.EndpointSlice{}
	g.Expect(writer.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "web-1"}, slice)).To(Succeed())
	snap := decide.Snapshot{Service: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}}
	slice.Endpoints[0].TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: snap.PodName(), UID: "theirs"}
	g.Expect(writer.Update(t.Context(), slice)).To(Succeed())
	ready := func() float64 {
		families, err := registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		for _, family := range families {
			if family.GetName() == prefix+"ready_endpoints" {
				return family.GetMetric()[0].GetGauge().GetValue()
			}
		}
		return -1
	}
	judge(t, watched)
	g.Expect(ready()).To(Equal(0.0), "it is not known yet")
	watched.Memory.Lookups.Set(key, memory.LookupOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: snap.PodName(), UID: "theirs"}}, "theirs"))
	judge(t, watched)
	g.Expect(ready()).To(Equal(1.0))
}
