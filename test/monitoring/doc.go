// Package monitoring holds what the operator applies for Prometheus against those that read it: a real
// prometheus-operator, promtool, and a real Prometheus that finds its targets in a real API server. It needs
// no node: `make monitoring`. Whether the metrics of an outage feed the alerts is for test/observability to say.
package monitoring
