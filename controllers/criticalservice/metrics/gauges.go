package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
)

// collectWithin is how long a scrape may read caches, which takes milliseconds. They
// block only while the operator starts or ends.
const collectWithin = 5 * time.Second

// states are the values of the label state.
var states = []criticalv2.ServiceState{
	criticalv2.StateIgnored, criticalv2.StateArming, criticalv2.StateArmed, criticalv2.StateExposed, criticalv2.StateCovered,
}

// gauges show the state of every Service that a CriticalService names, each once. They
// are computed at a scrape, from the caches alone, so that what is deleted vanishes
// with its cache entry. Only the replica that leads has any: the others would
// say the same, and everything would count twice.
type gauges struct {
	observe.Observer
	outages outageCounter
	leads   <-chan struct{}

	info, state, since, ready, fallback, failover, maintenance, count *prometheus.Desc
}

// Gauges makes the gauges of what an observer sees, while this replica leads.
func (m *Counters) Gauges(observer observe.Observer, leads <-chan struct{}) prometheus.Collector {
	desc := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(prefix+name, help, append([]string{labelNamespace, labelService}, more...), nil)
	}
	return &gauges{
		Observer: observer, outages: m.outages, leads: leads,
		info: desc("info", "A Service that a CriticalService names, with the one that governs it and the kind of fallback that stands in for it (none if there is none); always 1.",
			"critical_service", labelFallback),
		state: desc("state", "State of a Service: 1 for the one it is in (Ignored, Arming, Armed, Exposed, Covered), 0 for the others.",
			"state"),
		since:       desc("state_since_timestamp_seconds", "When the Service came into its state, in seconds since 1970."),
		ready:       desc("ready_endpoints", "Ready endpoints of the Service's own; those that the operator published never count."),
		fallback:    desc("fallback_active", "1 while the Service has no ready endpoint of its own and its fallback answers, else 0."),
		failover:    desc("failover_ready", "1 if the standby answered the last self-test on every port, 0 if it did not; there is no sample while no standby was tested."),
		maintenance: desc("maintenance", "1 while a maintenance of the Service is announced, else 0."),
		count:       desc("outages_total", "Outages of the Service that began since this operator leads."),
	}
}

// Describe names the metrics.
func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{g.info, g.state, g.since, g.ready, g.fallback, g.failover, g.maintenance, g.count} {
		out <- desc
	}
}

// Collect looks at every Service.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	select {
	case <-g.leads:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectWithin)
	defer cancel()
	known, seen := g.outages.services.Keys(), map[types.NamespacedName]bool{}
	policies := observe.Policies(ctx, g.Cached)
	for i := range policies {
		observe.EachMatched(ctx, g.Cached, &policies[i], func(service *corev1.Service) {
			key := client.ObjectKeyFromObject(service)
			if seen[key] {
				return
			}
			seen[key] = true
			if err := g.collect(ctx, key, service, out); err != nil {
				// It happens only while the operator starts or ends, and the next scrape is not far.
				ctrl.Log.WithName("metrics").V(1).Info("a Service is missing in a scrape", "service", key, "error", err.Error())
			}
		})
	}
	g.outages.forget(known, seen)
}

func (g *gauges) collect(ctx context.Context, key types.NamespacedName, service *corev1.Service, out chan<- prometheus.Metric) error {
	snap, err := g.ObserveCached(ctx, key)
	if err != nil {
		return err
	}
	verdict := summary.Verdict{Service: service, Plan: decide.Decide(snap), Check: g.Check(key, &snap)}
	if verdict.Plan.Governor == nil {
		return nil
	}
	send := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, kind, value, append([]string{key.Namespace, key.Name}, labels...)...)
	}
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		send(desc, prometheus.GaugeValue, value, labels...)
	}
	state, since := g.stateOf(&verdict, snap.Now)
	fallback := verdict.Plan.Fallback
	if fallback == "" {
		fallback = noFallback
	}
	gauge(g.info, 1, verdict.Plan.Governor.Name, fallback)
	for _, each := range states {
		gauge(g.state, truth(each == state), string(each))
	}
	outages, seenSince := g.outages.see(key, state, snap.Now)
	if since.IsZero() {
		since = seenSince
	}
	gauge(g.since, float64(since.UnixMilli())/1000)
	if state == criticalv2.StateIgnored {
		return nil // The operator does not watch its endpoints.
	}
	gauge(g.ready, float64(verdict.Plan.OwnReady))
	gauge(g.fallback, truth(state == criticalv2.StateCovered))
	gauge(g.maintenance, truth(verdict.Plan.Maintenance != nil))
	send(g.count, prometheus.CounterValue, float64(outages))
	if check := verdict.Check; check != nil && check.Asked > 0 {
		gauge(g.failover, truth(check.Silence == nil))
	}
	return nil
}

// stateOf is the state of a Service as the status has it, or is about to: while the
// API server is asked for something, what it said before holds. The time is zero if
// the status does not say since when.
func (g *gauges) stateOf(verdict *summary.Verdict, now time.Time) (criticalv2.ServiceState, time.Time) {
	governor := verdict.Plan.Governor
	detail := summary.Detail(governor, *verdict, now)
	if known := governor.Status.DetailOf(detail.Namespace, detail.Name); known != nil && known.State == detail.State {
		return detail.State, detail.Since.Time
	}
	return detail.State, time.Time{}
}

func truth(value bool) float64 {
	if value {
		return 1
	}
	return 0
}
