package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
)

// collectWithin is how long a scrape may read a cache, which takes milliseconds. It
// blocks only while the operator starts or ends.
const collectWithin = 5 * time.Second

// gauges show the state of every Service that a policy matches, each once. They
// are what was decided last, so that a scrape decides nothing, and what is no longer
// protected vanishes at once. Only the replica that leads has any: the others would
// say the same, and everything would count twice.
type gauges struct {
	observe.Observer
	leads <-chan struct{}

	settled, state, since, ready, failover, maintenance, count, last, usual *prometheus.Desc
}

// Gauges makes the gauges of what an observer's memory holds, while this replica leads.
func (m *Counters) Gauges(observer observe.Observer, leads <-chan struct{}) prometheus.Collector {
	desc := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(prefix+name, help, append([]string{labelNamespace, labelService}, more...), nil)
	}
	return &gauges{
		Observer: observer, leads: leads,
		settled: prometheus.NewDesc(prefix+"settled",
			"1 once this operator has looked at every Service that a CriticalService names, 0 while it has just begun to lead and some have no series yet.", nil, nil),
		state: desc("state", "The state that a Service is in (Ignored, Arming, Armed, Exposed, Covered), with the object that governs it, its kind (CriticalService or ServiceFallback) and the kind of fallback that stands in for the Service (none if there is none); always 1.",
			"state", "critical_service", "governor_kind", labelFallback),
		since:       desc("state_since_timestamp_seconds", "When the Service came into its state, in seconds since 1970."),
		ready:       desc("ready_endpoints", "Ready endpoints of the Service's own; those that the operator published never count."),
		failover:    desc("failover_ready", "1 if the standby answered the last self-test on every port, 0 if it did not; there is no sample while no standby was tested."),
		maintenance: desc("maintenance", "1 while a maintenance of the Service is announced; else there is no sample."),
		count:       desc("outages_total", "Outages of the Service that began since this operator leads."),
		last:        desc("last_time_to_cover_seconds", "Time from the beginning of the Service's latest outage until the fallback answered; there is no sample unless it began within an hour, and there are three earlier ones to compare it with."),
		usual:       desc("usual_time_to_cover_seconds", "The median of that time in the Service's earlier outages of the status; there is a sample where the other one has one."),
	}
}

// Describe names the metrics.
func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{g.settled, g.state, g.since, g.ready, g.failover, g.maintenance, g.count, g.last, g.usual} {
		out <- desc
	}
}

// detailKey names what one policy says of one Service.
type detailKey struct {
	policy  types.NamespacedName
	service types.NamespacedName
}

// Collect reports every Service.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	select {
	case <-g.leads:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectWithin)
	defer cancel()
	policies := observe.AllPolicies(ctx, g.Cached)
	settled, details, outages := true, map[detailKey]*criticalv2.ServiceStatus{}, map[detailKey][]criticalv2.Outage{}
	for _, policy := range policies {
		key, status := summary.KeyOf(policy), policy.Observed()
		known := g.Memory.Statuses.Get(key)
		// Alerts wait for this, so that no team can hold it back.
		settled = settled && (key.Namespace != "" || known != nil && known.Settled.UID == policy.GetUID())
		for i := range status.Details {
			detail := &status.Details[i]
			details[detailKey{key, types.NamespacedName{Namespace: detail.Namespace, Name: detail.Name}}] = detail
		}
		for _, outage := range status.Outages {
			of := detailKey{key, types.NamespacedName{Namespace: outage.Namespace, Name: outage.Name}}
			outages[of] = append(outages[of], outage)
		}
	}
	out <- prometheus.MustNewConstMetric(g.settled, prometheus.GaugeValue, truth(settled))
	for _, judged := range g.Memory.Judgements.All() {
		of := detailKey{judged.Matching[0].Key, judged.Service}
		g.collect(judged, details[of], coverOf(outages[of], g.Clock.Now()), out)
	}
}

// collect reports one Service, of which the status may say something.
func (g *gauges) collect(judged *memory.Judged, detail *criticalv2.ServiceStatus, cover cover, out chan<- prometheus.Metric) {
	send := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, kind, value, append([]string{judged.Service.Namespace, judged.Service.Name}, labels...)...)
	}
	state, since := stateOf(judged, detail)
	fallback := judged.Fallback
	if fallback == "" {
		fallback = noFallback
	}
	send(g.state, prometheus.GaugeValue, 1, string(state), judged.Matching[0].Key.Name, judged.Matching[0].Kind, fallback)
	send(g.since, prometheus.GaugeValue, float64(since.UnixMilli())/1000)
	if state == criticalv2.StateIgnored {
		return // The operator does not watch its endpoints.
	}
	send(g.ready, prometheus.GaugeValue, float64(judged.OwnReady))
	send(g.count, prometheus.CounterValue, float64(judged.Outages))
	if judged.Maintenance {
		send(g.maintenance, prometheus.GaugeValue, 1)
	}
	if cover.isKnown {
		send(g.last, prometheus.GaugeValue, cover.last.Seconds())
		send(g.usual, prometheus.GaugeValue, cover.usual.Seconds())
	}
	if check := g.Memory.Checks.Get(judged.Service); judged.Published && check != nil && check.Asked > 0 {
		send(g.failover, prometheus.GaugeValue, truth(check.Silence == nil))
	}
}

// stateOf is the state of a Service as the status has it, or is about to, and since
// when: while the API server is asked for something, what the status said before holds.
func stateOf(judged *memory.Judged, detail *criticalv2.ServiceStatus) (criticalv2.ServiceState, time.Time) {
	state := judged.State
	if detail != nil && judged.IsHeld(detail) {
		state = detail.State
	}
	if detail != nil && detail.State == state {
		return state, detail.Since.Time
	}
	return state, judged.Since
}

func truth(value bool) float64 {
	if value {
		return 1
	}
	return 0
}
