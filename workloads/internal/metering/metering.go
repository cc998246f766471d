// Package metering is what the meter of a WebApp and the operator agree on.
package metering

const (
	// ContainerName is that of the meter in a Pod.
	ContainerName = "meter"
	// Port takes the traffic.
	Port = 18080
	// MetricsPort serves metrics and probes, and MetricsPortName is its name in the Pod.
	MetricsPort, MetricsPortName = 18081, "meter-metrics"
	// MetricsPath, ReadyPath and LivePath are what the second port serves.
	MetricsPath, ReadyPath, LivePath = "/metrics", "/readyz", "/healthz"
	// MetricRequests counts the HTTP requests, including those that find no place; an upgraded connection is one.
	MetricRequests = "webapp_meter_requests_total"
	// MetricInFlight is how many requests hold a place.
	MetricInFlight = "webapp_meter_requests_in_flight"
)
