package stories_test

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice"
	"github.com/critical-service/operator/test/metrictable"
)

// sample is the value of a series, or the count of a histogram; -1 if there is none.
func sample(g Gomega, registry prometheus.Gatherer, name string, labels map[string]string) float64 {
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		if family.GetName() != "critical_service_"+name {
			continue
		}
		for _, metric := range family.GetMetric() {
			has := map[string]string{}
			for _, label := range metric.GetLabel() {
				has[label.GetName()] = label.GetValue()
			}
			if maps.Equal(has, labels) {
				return valueOf(metric)
			}
		}
	}
	return -1
}

// seriesOf counts the series that name a Service.
func seriesOf(g Gomega, registry prometheus.Gatherer, service string) (count int) {
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "service" && label.GetValue() == service {
					count++
				}
			}
		}
	}
	return count
}

func valueOf(metric *dto.Metric) float64 {
	switch {
	case metric.GetGauge() != nil:
		return metric.GetGauge().GetValue()
	case metric.GetCounter() != nil:
		return metric.GetCounter().GetValue()
	default:
		return float64(metric.GetHistogram().GetSampleCount())
	}
}

// The metrics of a Service follow it through an outage, and go with it.
func TestTheMetricsOfAServiceFollowIt(t *testing.T) {
	w, registry := withResponder(t), prometheus.NewRegistry()
	w.start(w.complete(func(o *criticalservice.Options) { o.Registry = registry }))
	policy := w.policy("shop", toPage)
	service, real := w.armed(policy, "web")
	of := func(name string, more ...string) func() float64 {
		labels := map[string]string{"namespace": service.Namespace, "service": service.Name}
		if name == "state" {
			labels["critical_service"], labels["governor_kind"], labels["fallback"] = policy.Name, "CriticalService", "page"
		}
		for i := 0; i < len(more); i += 2 {
			labels[more[i]] = more[i+1]
		}
		return func() float64 { return sample(w, registry, name, labels) }
	}
	count := func(name string, more ...string) func() float64 {
		labels := map[string]string{}
		for i := 0; i < len(more); i += 2 {
			labels[more[i]] = more[i+1]
		}
		return func() float64 { return sample(w, registry, name, labels) }
	}

	w.Eventually(of("state", "state", "Armed")).Should(Equal(1.0))
	for _, other := range []string{"Ignored", "Arming", "Exposed", "Covered"} {
		w.Expect(of("state", "state", other)()).To(Equal(-1.0), other)
	}
	w.Expect(of("ready_endpoints")()).To(Equal(1.0), "the standby does not count")
	w.Expect(of("maintenance")()).To(Equal(-1.0), "none is announced")
	w.Eventually(count("settled")).Should(Equal(1.0))
	w.Expect(of("outages_total")()).To(Equal(0.0), "it begins at 0")
	w.Expect(of("failover_ready")()).To(Equal(-1.0), "the standby is not tested")
	w.Eventually(func() bool {
		return of("state_since_timestamp_seconds")() == float64(w.detailOf(policy, service).Since.Unix())
	}).Should(BeTrue(), "the status says since when")

	w.fail(service, real)
	w.Eventually(of("state", "state", "Covered")).Should(Equal(1.0))
	w.Expect(of("state", "state", "Armed")()).To(Equal(-1.0))
	w.Expect(of("ready_endpoints")()).To(Equal(0.0), "what the operator published does not count")
	w.Eventually(of("outages_total")).Should(Equal(1.0))
	w.Eventually(count("time_to_cover_seconds", "fallback", "page")).Should(Equal(1.0))
	w.Eventually(count("activations_total", "fallback", "page", "result", "promoted")).Should(Equal(1.0))
	w.Eventually(count("writes_total", "kind", "EndpointSlice", "verb", "patch", "result", "ok")).Should(BeNumerically(">", 0))

	w.Expect(seriesOf(w, registry, service.Name)).To(And(BeNumerically(">", 3), BeNumerically("<=", 6)), "10,000 Services make a scrape of 60,000 series")

	w.recover(service)
	w.Eventually(of("state", "state", "Armed")).Should(Equal(1.0))
	w.Eventually(count("outage_duration_seconds", "fallback", "page")).Should(Equal(1.0))
	w.Expect(of("outages_total")()).To(Equal(1.0))
	families, err := registry.Gather()
	w.Expect(err).NotTo(HaveOccurred())
	metrictable.Lint(w, families)

	w.Delete(service)
	w.Eventually(func() []string { return services(w, registry) }).ShouldNot(ContainElement(service.Name), "it leaves no series")
}

// What the API server denies is tried again and again, and counts once an outage.
func TestADenialCountsOnceAnOutage(t *testing.T) {
	w, registry := withResponder(t), prometheus.NewRegistry()
	w.start(w.complete(func(o *criticalservice.Options) { o.Registry = registry }))
	policy := w.policy("shop")
	refusals["a quota"].begin(w)
	service := w.down("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Exposed/CreateDenied"))
	creates := map[string]string{"kind": "Pod", "verb": "create", "result": "refused"}
	w.Eventually(func() float64 { return sample(w, registry, "writes_total", creates) }).Should(BeNumerically(">=", 3), "it is tried again")
	denied := map[string]string{"fallback": "podTemplate", "result": "denied"}
	w.Expect(sample(w, registry, "activations_total", denied)).To(Equal(1.0))

	refusals["a quota"].allow(w)
	w.answer(service, w.fallback(service))
	created := map[string]string{"fallback": "podTemplate", "result": "created"}
	w.Eventually(func() float64 { return sample(w, registry, "activations_total", created) }).Should(Equal(1.0))
}

// services are the values of the label service, of all series.
func services(g Gomega, registry prometheus.Gatherer) []string {
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "service" {
					names = append(names, label.GetValue())
				}
			}
		}
	}
	return names
}

// A Service that several CriticalServices name is counted once, for the one that governs.
func TestAServiceIsCountedOnce(t *testing.T) {
	w, registry := withResponder(t), prometheus.NewRegistry()
	w.start(w.complete(func(o *criticalservice.Options) { o.Registry = registry }))
	first := w.policy("a-shop", toPage)
	w.policy("b-shop", toPage)
	service, _ := w.up("web")
	ignored := w.critical("alias", func(s *corev1.Service) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, criticalv2.AnnotationCriticalService, criticalv2.OptOut)
	})
	state := func(governor *criticalv2.CriticalService, name, state string) func() float64 {
		return func() float64 {
			return sample(w, registry, "state", map[string]string{
				"namespace": w.Namespace, "service": name, "critical_service": governor.Name, "governor_kind": "CriticalService", "fallback": "page", "state": state,
			})
		}
	}
	w.Eventually(state(first, service.Name, "Arming")).Should(Equal(1.0))
	w.Eventually(state(first, ignored.Name, "Ignored")).Should(Equal(1.0))
	of := map[string]string{"namespace": w.Namespace, "service": ignored.Name}
	w.Expect(sample(w, registry, "ready_endpoints", of)).To(Equal(-1.0), "its endpoints are not watched")
}

// An alert names who is to be asked: the kind of what governs comes with its name.
func TestTheStateNamesTheKindOfWhatGoverns(t *testing.T) {
	w, registry := withResponder(t), prometheus.NewRegistry()
	w.start(w.complete(func(o *criticalservice.Options) { o.Registry = registry }))
	team := w.team("web", naming("web"))
	service, real := w.up("web")
	w.responder("responder-1")
	state := func(kind, governor, state string) func() float64 {
		return func() float64 {
			return sample(w, registry, "state", map[string]string{
				"namespace": service.Namespace, "service": service.Name, "critical_service": governor, "governor_kind": kind, "fallback": "page", "state": state,
			})
		}
	}
	w.Eventually(state("ServiceFallback", team.Name, "Armed")).Should(Equal(1.0))
	w.fail(service, real)
	w.Eventually(state("ServiceFallback", team.Name, "Covered")).Should(Equal(1.0))

	enforced := w.policy("z", toPage, func(p *criticalv2.CriticalService) { p.Spec.Precedence = criticalv2.PrecedenceEnforced })
	w.Eventually(state("CriticalService", enforced.Name, "Covered")).Should(Equal(1.0))
	w.Expect(state("ServiceFallback", team.Name, "Covered")()).To(Equal(-1.0), "a Service has one state")
	w.Delete(enforced)
	w.Eventually(state("ServiceFallback", team.Name, "Covered")).Should(Equal(1.0))
}
