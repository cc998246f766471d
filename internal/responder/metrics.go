package responder

import (
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/responder/live"
	"github.com/critical-service/operator/internal/version"
)

// silent is the protocol of a client that said nothing.
const silent = "silent"

// metrics are bounded: Services and ports are those of the table, and go with
// it; protocols and statuses are words of ours, or codes that the page gives.
type metrics struct {
	registry    *prometheus.Registry
	answers     *prometheus.CounterVec
	connections *prometheus.CounterVec
	durations   *prometheus.HistogramVec
	selfTests   *prometheus.CounterVec
	reloads     *prometheus.CounterVec
	rejected    prometheus.Counter
	panics      prometheus.Counter
	listeners   *prometheus.GaugeVec
}

const prefix = "critical_service_responder_"

// Names of labels.
const (
	labelService  = "service"
	labelPort     = "port"
	labelProtocol = "protocol"
	labelStatus   = "status"
)

// Durations are kept twice: in buckets for every Prometheus, and as native histograms
// for those that take them. The bounds keep the memory of a native one small.
const (
	nativeFactor     = 1.1
	nativeBuckets    = 40
	nativeResetAfter = time.Hour
)

// newMetrics makes the metrics of a responder; open returns how many connections are
// open of the limit that may be.
func newMetrics(open func() float64, limit int) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "answers_total",
			Help: "Answers given in the place of a Service, by its port, the protocol and the status: that of HTTP or gRPC, else refused, or aborted by the client."},
			[]string{labelService, labelPort, labelProtocol, labelStatus}),
		connections: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "connections_total",
			Help: "Connections taken in the place of a Service, by its port and the protocol of the client."},
			[]string{labelService, labelPort, labelProtocol}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + "answer_duration_seconds",
			Help:                        "Time to answer a request or to refuse a connection in the place of a Service, by the protocol and the status.",
			Buckets:                     []float64{.0005, .001, .005, .025, .1, .5, 2.5, 10},
			NativeHistogramBucketFactor: nativeFactor, NativeHistogramMaxBucketNumber: nativeBuckets,
			NativeHistogramMinResetDuration: nativeResetAfter},
			[]string{labelService, labelProtocol, labelStatus}),
		selfTests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "self_tests_total",
			Help: "Answers given to the operator's self-test, by the Service's port and the protocol. They are in no other count of answers."},
			[]string{labelService, labelPort, labelProtocol}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "reloads_total",
			Help: "Changes of the table of listeners and of content that were read, by result: ok, or failed if a part of it cannot be used."},
			[]string{"what", "result"}),
		rejected: prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "connections_rejected_total",
			Help: "Connections closed because too many were open: at once, or in favor of another Service or client."}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "panics_total",
			Help: "Connections dropped because of a bug of the responder."}),
		listeners: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "listeners",
			Help: "Ports that are listened on (bound), and those of them that stand in for a Service (assigned)."},
			[]string{"state"}),
	}
	for _, what := range []live.What{live.TheTable, live.TheContent} {
		for _, result := range []string{"ok", "failed"} {
			m.reloads.WithLabelValues(string(what), result)
		}
	}
	m.registry.MustRegister(m.answers, m.connections, m.durations, m.selfTests, m.reloads, m.rejected, m.panics, m.listeners,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + "connections_open", Help: "Connections that are open."}, open),
		constant("connections_limit", "Connections that may be open at once; more are closed at once.", float64(limit), nil),
		constant("build_info", "The build of the responder that is running; always 1.", 1, prometheus.Labels{
			"version": version.Version, "revision": version.Commit, "goversion": runtime.Version(),
		}),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// constant is a metric that does not change while the process runs.
func constant(name, help string, value float64, labels prometheus.Labels) prometheus.Gauge {
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + name, Help: help, ConstLabels: labels})
	gauge.Set(value)
	return gauge
}

// portOf is a port of a Service as a label.
func portOf(l listener.Listener) string {
	if l.PortName != "" || l.ServicePort == 0 {
		return l.PortName
	}
	return strconv.Itoa(int(l.ServicePort))
}

func (m *metrics) connected(entry *live.Entry, protocol string) {
	m.connections.WithLabelValues(entry.Service, portOf(entry.Listener), protocol).Inc()
}

func (m *metrics) answered(entry *live.Entry, protocol, status string, took time.Duration) {
	m.answers.WithLabelValues(entry.Service, portOf(entry.Listener), protocol, status).Inc()
	m.durations.WithLabelValues(entry.Service, protocol, status).Observe(took.Seconds())
}

// tested counts an answer to the self-test, which is no client's.
func (m *metrics) tested(entry *live.Entry, protocol string) {
	m.selfTests.WithLabelValues(entry.Service, portOf(entry.Listener), protocol).Inc()
}

// Reloaded counts what was read.
func (m *metrics) Reloaded(what live.What, err error) {
	result := "ok"
	if err != nil {
		result = "failed"
	}
	m.reloads.WithLabelValues(string(what), result).Inc()
}

// Replaced forgets the Services that are not in the table any more.
func (m *metrics) Replaced(before, after []listener.Listener) {
	m.listeners.WithLabelValues("assigned").Set(float64(len(after)))
	left := map[string]bool{}
	for _, l := range after {
		left[l.Service] = true
	}
	for _, l := range before {
		if left[l.Service] {
			continue
		}
		gone := prometheus.Labels{labelService: l.Service}
		m.answers.DeletePartialMatch(gone)
		m.connections.DeletePartialMatch(gone)
		m.durations.DeletePartialMatch(gone)
		m.selfTests.DeletePartialMatch(gone)
	}
}

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader remembers the status.
func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach what is below.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// outcome is the protocol and the status of an answer, as labels.
func (r *recorder) outcome(request *http.Request) (protocol, status string) {
	for _, name := range []string{"Grpc-Status", http.TrailerPrefix + "grpc-status"} {
		if code := r.Header()[name]; len(code) == 1 {
			return "grpc", code[0]
		}
	}
	return "http" + strconv.Itoa(request.ProtoMajor), strconv.Itoa(r.status)
}
