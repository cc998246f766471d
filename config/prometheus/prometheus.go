// Package prometheus holds what a Prometheus is to scrape, and when it alerts.
package prometheus

import _ "embed"

// The objects of the Prometheus operator, as YAML.
var (
	// ServiceMonitor is of the operator itself.
	//
	//go:embed monitor.yaml
	ServiceMonitor []byte
	// PodMonitor is of the responders.
	//
	//go:embed podmonitor.yaml
	PodMonitor []byte
	// Rules are the alerts.
	//
	//go:embed rules.yaml
	Rules []byte
)
