// Package metrics counts what happens to Services, and shows their state at a scrape.
package metrics

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
)

const prefix = "critical_service_"

// Names of labels.
const (
	labelNamespace = "namespace"
	labelService   = "service"
	labelFallback  = "fallback"
	labelResult    = "result"
)

// noFallback is the label of an outage in which nothing answered.
const noFallback = "none"

// Results of an activation.
const (
	// resultPromoted: the standby endpoints were made ready ones.
	resultPromoted = "promoted"
	// resultCreated: a fallback Pod was created.
	resultCreated = "created"
	// resultDenied: the API server accepted neither.
	resultDenied = "denied"
)

// Results of a self-test.
const (
	resultAnswered = "answered"
	resultSilent   = "silent"
)

// Histograms are kept twice: with buckets for every Prometheus, and as native ones
// for those that take them, which then are finer and cost less.
const (
	nativeFactor     = 1.1
	nativeBuckets    = 100
	nativeResetAfter = time.Hour
)

// Counters count what happens. What is, the gauges say (gauges.go).
type Counters struct {
	activations *prometheus.CounterVec
	selfTests   *prometheus.CounterVec
	durations   *prometheus.HistogramVec
	covers      *prometheus.HistogramVec
	memory      *memory.Memory
}

// New makes the counters, each series that can come with a zero, so that
// a metric without events is not taken for one that is missing.
func New(known *memory.Memory) *Counters {
	m := &Counters{
		activations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "activations_total",
			Help: "Fallbacks put to work in an outage, by the kind of fallback and the result: promoted (its standby endpoints were made ready ones), created (its Pod was created), or denied (the API server accepted neither; once an outage, however often it is tried).",
		}, []string{labelFallback, labelResult}),
		selfTests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "self_tests_total",
			Help: "Self-tests of standbys, by result: answered, or silent if a port did not answer in its protocol.",
		}, []string{labelResult}),
		durations: histogram("outage_duration_seconds",
			"Time from the last ready endpoint of a Service's own until the next, by the kind of fallback that answered meanwhile (none if nothing did).",
			1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 14400, 86400),
		covers: histogram("time_to_cover_seconds",
			"Time from the beginning of an outage until the fallback answered, as the operator saw both: 0 where a standby was there already.",
			.5, 1, 2, 5, 10, 20, 30, 60, 120, 300),
		memory: known,
	}
	kinds := []string{criticalv2.FallbackKindPage, criticalv2.FallbackKindPodTemplate, criticalv2.FallbackKindService}
	for _, kind := range kinds {
		m.activations.WithLabelValues(kind, resultPromoted)
		m.activations.WithLabelValues(kind, resultDenied)
		m.durations.WithLabelValues(kind)
		m.covers.WithLabelValues(kind)
	}
	m.activations.WithLabelValues(criticalv2.FallbackKindPodTemplate, resultCreated)
	m.durations.WithLabelValues(noFallback)
	m.selfTests.WithLabelValues(resultAnswered)
	m.selfTests.WithLabelValues(resultSilent)
	return m
}

func histogram(name, help string, buckets ...float64) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: prefix + name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: nativeFactor, NativeHistogramMaxBucketNumber: nativeBuckets,
		NativeHistogramMinResetDuration: nativeResetAfter,
	}, []string{labelFallback})
}

// Register registers the counters.
func (m *Counters) Register(registry prometheus.Registerer) error {
	return errors.Join(
		registry.Register(m.activations), registry.Register(m.selfTests),
		registry.Register(m.durations), registry.Register(m.covers),
	)
}

// Activation is what one reconcile of a Service did to put a fallback to work.
type Activation struct {
	// InOutage is true while a policy governs the Service, and it has no ready
	// endpoint of its own. Otherwise a Pod is only made to stand by.
	InOutage bool
	// Created is true if a fallback Pod was created.
	Created bool
	// Promoted is the kind of a fallback whose standby was promoted; empty if none.
	Promoted string
	// Denied is the kind of a fallback that the API server denied; empty if none.
	Denied string
}

// Activated counts the fallbacks that were put to work, and those that the API server
// denied.
func (m *Counters) Activated(key types.NamespacedName, a Activation) {
	if !a.InOutage {
		m.memory.Denials.Delete(key)
		return
	}
	if a.Created {
		m.activations.WithLabelValues(criticalv2.FallbackKindPodTemplate, resultCreated).Inc()
	}
	if a.Promoted != "" {
		m.activations.WithLabelValues(a.Promoted, resultPromoted).Inc()
	}
	// What is denied is tried again and again, which is still one outage without it.
	if last := m.memory.Denials.Get(key); a.Denied != "" && (last == nil || *last != a.Denied) {
		m.activations.WithLabelValues(a.Denied, resultDenied).Inc()
		m.memory.Denials.Set(key, a.Denied)
	}
}

// SelfTested counts a self-test of a standby.
func (m *Counters) SelfTested(answered bool) {
	result := resultSilent
	if answered {
		result = resultAnswered
	}
	m.selfTests.WithLabelValues(result).Inc()
}

// outageKey names an outage: those of one Service begin at different times.
type outageKey struct {
	types.NamespacedName
	began int64
}

// Follow counts what a status that was written says of outages and the one before
// it did not. An operator that starts in an outage therefore counts it once.
func (m *Counters) Follow(before criticalv2.Policy, after *criticalv2.ProtectionStatus, verdicts []summary.Verdict) {
	known := map[outageKey]criticalv2.Outage{}
	for _, outage := range before.Observed().Outages {
		known[keyOf(outage)] = outage
	}
	recovered := answering(before, verdicts)
	for _, outage := range after.Outages {
		key := keyOf(outage)
		was, isKnown := known[key]
		if !isKnown {
			m.memory.Judgements.CountOutage(key.NamespacedName)
		}
		if outage.Covered != nil && was.Covered == nil && (isKnown || isTimed(before, outage)) {
			m.covers.WithLabelValues(kindOf(outage)).Observe(outage.Covered.Sub(outage.Began.Time).Seconds())
		}
		if outage.Ended != nil && was.Ended == nil && recovered[key.NamespacedName] {
			m.durations.WithLabelValues(kindOf(outage)).Observe(outage.Ended.Sub(outage.Began.Time).Seconds())
		}
	}
}

// answering are the Services that answer by themselves under a policy. An
// outage of another one has ended in this list only: its recovery is not seen here.
func answering(policy criticalv2.Policy, verdicts []summary.Verdict) map[types.NamespacedName]bool {
	answer := map[types.NamespacedName]bool{}
	for i := range verdicts {
		if verdict := &verdicts[i]; verdict.IsGovernedBy(summary.KeyOf(policy)) {
			answer[verdict.Service] = verdict.State == criticalv2.StateArming || verdict.State == criticalv2.StateArmed
		}
	}
	return answer
}

// isTimed reports whether an outage that is new shows how long it took to cover it:
// if a standby was there, or if both moments were seen. That a Pod which is made in the
// outage answered at the very beginning only means that it was not observed before.
func isTimed(policy criticalv2.Policy, outage criticalv2.Outage) bool {
	template := policy.Protection().Fallback.PodTemplate
	standsBy := template != nil && template.Activation == criticalv2.ActivationStandby
	return outage.Fallback != criticalv2.FallbackKindPodTemplate || standsBy || outage.Covered.After(outage.Began.Time)
}

func keyOf(outage criticalv2.Outage) outageKey {
	return outageKey{types.NamespacedName{Namespace: outage.Namespace, Name: outage.Name}, outage.Began.UnixMicro()}
}

// kindOf is the kind of fallback that answered in an outage, as a label.
func kindOf(outage criticalv2.Outage) string {
	if outage.Fallback == "" {
		return noFallback
	}
	return outage.Fallback
}
