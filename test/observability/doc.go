// Package observability sees an outage as a Prometheus sees it: a real one, started by
// the test on this machine, which scrapes the operator and the responders of a real
// cluster as their annotations say, with the rules of config/prometheus.
//
// It proves what promtool cannot: that alerts fire and resolve on what the operator
// really exports, and that every query of the dashboard has an answer. `make
// observability` runs it, and with TEST_ARGS="-args -update" it draws
// docs/images/outage-timeline.svg of what it has measured.
package observability
