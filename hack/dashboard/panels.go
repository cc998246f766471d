package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// chosen selects the series of the Services that the reader has chosen, and inNamespace
// those that know no Service.
const (
	chosen      = `namespace=~"$namespace", service=~"$service"`
	inNamespace = `namespace=~"$namespace"`
)

// ofEach takes the greatest value of each Service: only the leading replica reports, but two
// overlap for a moment when the lead changes.
func ofEach(expr string) string { return "max by (namespace, service) (" + expr + ")" }

func inState(state string) string {
	return `sum(max by (namespace, service) (critical_service_state{` + chosen + `, state="` + state + `"})) or vector(0)`
}

// services says how every Service is now.
func services() section {
	count := func(title, meaning, expr string) panel {
		return panel{title: title, meaning: meaning, unit: plain, width: 4, height: flat, queries: []query{{expr: expr, legend: title, latest: true}}}
	}
	return section{"Services", []cog.Builder[dashboard.Panel]{
		count("Named by a policy", "Services that a CriticalService names.",
			"count("+ofEach("critical_service_state{"+chosen+"}")+")").figure(always(aside)),
		count("Exposed", "Services that are down and for which nothing answers.",
			inState("Exposed")).figure(always(calm), from(1, down)),
		count("Covered", "Services that are down and whose fallback answers.",
			inState("Covered")).figure(always(calm), from(1, warned)),
		count("Arming", "Services that answer, and whose fallback is not prepared.",
			inState("Arming")).figure(always(calm), from(1, moving)),
		count("Self-test failed", "Services whose standby did not answer the last self-test.",
			"count("+ofEach("critical_service_failover_ready{"+chosen+"}")+" == 0) or vector(0)").figure(always(calm), from(1, warned)),
		count("In maintenance", "Services for which a maintenance is announced.",
			"sum("+ofEach("critical_service_maintenance{"+chosen+"}")+") or vector(0)").figure(always(aside), from(1, moving)),
		serviceTable(),
		panel{
			title: "State", meaning: "The state of each Service over time. Exposed: down, nothing answers. Covered: down, the fallback answers.",
			unit: plain, width: full, height: tall,
			queries: []query{{legend: "{{namespace}}/{{service}}", expr: ofEach(
				`0 * critical_service_state{` + chosen + `, state="Ignored"} or ` +
					`1 * critical_service_state{` + chosen + `, state="Arming"} or ` +
					`2 * critical_service_state{` + chosen + `, state="Armed"} or ` +
					`3 * critical_service_state{` + chosen + `, state="Covered"} or ` +
					`4 * critical_service_state{` + chosen + `, state="Exposed"}`)}},
		}.states(words(map[string]word{
			"0": {"Ignored", aside}, "1": {"Arming", moving}, "2": {"Armed", calm}, "3": {"Covered", warned}, "4": {"Exposed", down},
		})),
	}}
}

func serviceTable() cog.Builder[dashboard.Panel] {
	ready := words(map[string]word{"0": {"no", warned}, "1": {"yes", calm}})
	return panel{
		title: "Services now", meaning: "Every protected Service, with its state, what stands in for it, and whether the standby answered the last self-test.",
		unit: plain, width: full, height: tall,
		queries: []query{
			{expr: `max by (namespace, service, state, governor_kind, critical_service, fallback) (critical_service_state{` + chosen + `})`, latest: true},
			{expr: `time() - ` + ofEach(`critical_service_state_since_timestamp_seconds{`+chosen+`}`), latest: true},
			{expr: ofEach(`critical_service_ready_endpoints{` + chosen + `}`), latest: true},
			{expr: ofEach(`critical_service_failover_ready{` + chosen + `}`), latest: true},
		},
	}.rows([]column{
		{query: "A"},
		{query: "B", name: "for", unit: units.Seconds},
		{query: "C", name: "ready endpoints", unit: plain},
		{query: "D", name: "self-test answered", unit: plain, words: &ready},
	}, "namespace", "service", "state", "Value #B", "Value #C", "fallback", "Value #D", "governor_kind", "critical_service")
}

// outages says what happened in the time that is shown.
func outages() section {
	shown := func(quantile, metric string) string {
		return `histogram_quantile(` + quantile + `, sum by (le) (increase(` + metric + `_bucket[$__range])))`
	}
	return section{"Outages", []cog.Builder[dashboard.Panel]{
		panel{
			title: "Ready endpoints", meaning: "Ready endpoints of each Service's own. Those of the fallback never count.",
			unit: plain, width: third, height: tall,
			queries: []query{{expr: ofEach(`critical_service_ready_endpoints{` + chosen + `}`), legend: "{{namespace}}/{{service}}"}},
		}.course(),
		panel{
			title: "Fallback answers", meaning: "1 while the fallback of a Service answers in its place.",
			unit: plain, width: third, height: tall,
			queries: []query{{expr: ofEach(`critical_service_state{`+chosen+`, state="Covered"}`) + ` or ` +
				ofEach(`0 * critical_service_state{`+chosen+`}`), legend: "{{namespace}}/{{service}}"}},
		}.course(),
		panel{
			title: "Outages that began", meaning: "How often each Service has lost its last ready endpoint, in each interval of the graph.",
			unit: plain, width: third, height: tall,
			queries: []query{{expr: `sum by (namespace, service) (increase(critical_service_outages_total{` + chosen + `}[$__rate_interval]))`, legend: "{{namespace}}/{{service}}"}},
		}.course(),
		panel{
			title: "How long outages lasted", meaning: "Of the outages of all Services that ended in the time shown: half lasted at most p50, 95 of 100 at most p95.",
			unit: units.Seconds, width: third, height: tall,
			queries: []query{
				{expr: shown("0.5", "critical_service_outage_duration_seconds"), legend: "p50", latest: true},
				{expr: shown("0.95", "critical_service_outage_duration_seconds"), legend: "p95", latest: true},
			},
		}.figure(always(aside)),
		panel{
			title: "Until the fallback answered", meaning: "From the beginning of an outage until the fallback answered, as the operator saw both, of all Services in the time shown. A standby answers earlier than the operator sees it.",
			unit: units.Seconds, width: third, height: tall,
			queries: []query{
				{expr: shown("0.5", "critical_service_time_to_cover_seconds"), legend: "p50", latest: true},
				{expr: shown("0.95", "critical_service_time_to_cover_seconds"), legend: "p95", latest: true},
			},
		}.figure(always(aside)),
		panel{
			title: "Fallbacks put to work", meaning: "Standbys promoted and fallback Pods created, and those that the API server denied, in each interval of the graph.",
			unit: plain, width: third, height: tall,
			queries: []query{{expr: `sum by (fallback, result) (increase(critical_service_activations_total[$__rate_interval]))`, legend: "{{fallback}} {{result}}"}},
		}.course(),
	}}
}
