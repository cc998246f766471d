// Package metering is what the meter of a WebApp and the operator agree on.
package metering

const (
	// ContainerName is that of the meter in a Pod.
	ContainerName = "meter"
	// Port takes the traffic.
	Port = 18080
	// MetricsPort serves metrics and probes.
	MetricsPort = 18081
	// MetricsPortName is its name in the Pod.
	MetricsPortName = "meter-metrics"
	// MetricsPath has the metrics.
	MetricsPath = "/metrics"
	// ReadyPath says whether the application listens.
	ReadyPath = "/readyz"
	// LivePath says that the meter runs.
	LivePath = "/healthz"
	// MetricRequests counts the HTTP requests, including those that find no place; an upgraded connection is one.
	MetricRequests = "webapp_meter_requests_total"
	// MetricInFlight is how many requests hold a place.
	MetricInFlight = "webapp_meter_requests_in_flight"
	// MemoryLimit is that of the container, in bytes, with what the kernel keeps for connections.
	MemoryLimit = 512 << 20
	// SoftMemoryLimit is what Go uses without a need for more, in bytes (GOMEMLIMIT).
	SoftMemoryLimit = 160 << 20
)
