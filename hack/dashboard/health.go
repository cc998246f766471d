package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// answers says what the responders do: rate, errors and duration, and how full they are.
func answers() section {
	slow := func(quantile string) string {
		return `histogram_quantile(` + quantile + `, sum by (le, namespace, service) (rate(critical_service_responder_answer_duration_seconds_bucket{` + chosen + `}[$__rate_interval])))`
	}
	lost := func(metric, legend string) query {
		return query{expr: `sum by (namespace) (rate(` + metric + `{` + inNamespace + `}[$__rate_interval]))`, legend: "{{namespace}} " + legend}
	}
	return section{"Responders: what answers in the place of a Service", []cog.Builder[dashboard.Panel]{
		panel{
			title: "Answers", meaning: "Answers in the place of each Service, by protocol and status. 503, UNAVAILABLE and the like are what a page is meant to say.",
			unit: units.RequestsPerSecond, width: third, height: tall,
			queries: []query{{expr: `sum by (namespace, service, protocol, status) (rate(critical_service_responder_answers_total{` + chosen + `}[$__rate_interval]))`,
				legend: "{{namespace}}/{{service}} {{protocol}} {{status}}"}},
		}.course(),
		panel{
			title: "Lost", meaning: "Connections refused because too many were open, and those dropped because of a bug.",
			unit: units.RequestsPerSecond, width: third, height: tall,
			queries: []query{
				lost("critical_service_responder_connections_rejected_total", "refused"),
				lost("critical_service_responder_panics_total", "dropped"),
			},
		}.course(),
		panel{
			title: "Time to answer", meaning: "Time to answer a request, or to refuse a connection in its protocol: half are at most p50, 99 of 100 at most p99.",
			unit: units.Seconds, width: third, height: tall,
			queries: []query{{expr: slow("0.5"), legend: "{{namespace}}/{{service}} p50"}, {expr: slow("0.99"), legend: "{{namespace}}/{{service}} p99"}},
		}.course(),
		panel{
			title: "Connections taken", meaning: "New connections in the place of each Service, by protocol.",
			unit: units.RequestsPerSecond, width: third, height: tall,
			queries: []query{{expr: `sum by (namespace, service, protocol) (rate(critical_service_responder_connections_total{` + chosen + `}[$__rate_interval]))`,
				legend: "{{namespace}}/{{service}} {{protocol}}"}},
		}.course(),
		panel{
			title: "How full", meaning: "Open connections of the fullest Pod, as a share of those that it takes. At 100 % it refuses clients.",
			unit: units.PercentUnit, width: third, height: tall,
			queries: []query{{expr: `max by (namespace) (critical_service_responder_connections_open{` + inNamespace + `} / critical_service_responder_connections_limit{` + inNamespace + `})`,
				legend: "{{namespace}}"}},
		}.course(),
		panel{
			title: "Pods", meaning: "Pods of the responder of each namespace: how many there should be, and how many are ready.",
			unit: plain, width: third, height: tall,
			queries: []query{{expr: `max by (namespace, state) (critical_service_responder_pods{` + inNamespace + `})`, legend: "{{namespace}} {{state}}"}},
		}.course(),
	}}
}

// operator says how the operator itself is.
func operator() section {
	return section{"Operator", []cog.Builder[dashboard.Panel]{
		panel{
			title: "Leads", meaning: "Replicas that lead. There is one, or standbys are published but nothing is promoted, repaired or reported.",
			unit: plain, width: 4, height: flat,
			queries: []query{{expr: `sum(critical_service_operator_leader) or vector(0)`, legend: "leaders", latest: true}},
		}.figure(always(down), from(1, calm), from(2, warned)),
		panel{
			title: "Webhook certificate", meaning: "How long the certificate of the webhook is valid still, of the replica where it ends first.",
			unit: units.Seconds, width: 4, height: flat,
			queries: []query{{expr: `min(critical_service_webhook_certificate_expiry_timestamp_seconds) - time()`, legend: "left", latest: true}},
		}.figure(always(down), from(24*3600, calm)),
		panel{
			title: "Replicas", meaning: "Replicas of the operator by version, and which of them leads.",
			unit: plain, width: 16, height: flat,
			queries: []query{
				{expr: `max by (instance, version, revision, goversion) (critical_service_operator_build_info)`, latest: true},
				{expr: `max by (instance) (critical_service_operator_leader)`, latest: true},
			},
		}.rows([]column{
			{query: "A"},
			{query: "B", name: "leads", unit: plain, words: new(words(map[string]word{"0": {"no", aside}, "1": {"yes", calm}}))},
		}, "instance", "Value #B", "version", "revision", "goversion"),
		panel{
			title: "Writes", meaning: "Writes to the API server, by kind, verb and result. In a settled cluster there are none.",
			unit: units.OpsPerSecond, width: third, height: tall,
			queries: []query{{expr: `sum by (kind, verb, result) (rate(critical_service_writes_total[$__rate_interval]))`, legend: "{{verb}} {{kind}} {{result}}"}},
		}.course(),
		panel{
			title: "Self-tests", meaning: "Self-tests of standbys, by what came of them.",
			unit: units.OpsPerSecond, width: third, height: tall,
			queries: []query{{expr: `sum by (result) (rate(critical_service_self_tests_total[$__rate_interval]))`, legend: "{{result}}"}},
		}.course(),
		panel{
			title: "Reconciliations", meaning: "What the controllers did, by result. Errors that go on are in the operator's log.",
			unit: units.OpsPerSecond, width: third, height: tall,
			queries: []query{{expr: `sum by (controller, result) (rate(controller_runtime_reconcile_total[$__rate_interval]) and on (instance) critical_service_operator_leader)`,
				legend: "{{controller}} {{result}}"}},
		}.course(),
		panel{
			title: "Waiting", meaning: "Keys that wait for a controller. A queue that grows means that the API server or the operator is too slow.",
			unit: plain, width: third, height: tall,
			queries: []query{{expr: `sum by (name) (workqueue_depth and on (instance) critical_service_operator_leader)`, legend: "{{name}}"}},
		}.course(),
		panel{
			title: "Memory", meaning: "Resident memory of each replica of the operator.",
			unit: units.BytesIEC, width: third, height: tall,
			queries: []query{{expr: `max by (instance) (process_resident_memory_bytes and on (instance) critical_service_operator_leader)`, legend: "{{instance}}"}},
		}.course(),
		panel{
			title: "CPU", meaning: "CPU seconds per second of each replica of the operator.",
			unit: plain, width: third, height: tall,
			queries: []query{{expr: `max by (instance) (rate(process_cpu_seconds_total[$__rate_interval]) and on (instance) critical_service_operator_leader)`, legend: "{{instance}}"}},
		}.course(),
	}}
}
