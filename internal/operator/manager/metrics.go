package manager

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/critical-service/operator/internal/operator/serving"
	"github.com/critical-service/operator/internal/operator/setting"
	"github.com/critical-service/operator/internal/version"
)

// scrapesAtOnce is how many scrapes are answered at the same time.
const scrapesAtOnce = 4

// metricsOptions say how metrics are served.
func metricsOptions(s *setting.Manager) (metricsserver.Options, error) {
	options := metricsserver.Options{
		BindAddress: s.MetricsBindAddress,
		HandlerOpts: []func(*promhttp.HandlerOpts){func(options *promhttp.HandlerOpts) {
			options.EnableOpenMetrics = true
			options.MaxRequestsInFlight = scrapesAtOnce
		}},
	}
	if !s.MetricsSecure {
		return options, nil
	}
	options.SecureServing = true
	options.TLSOpts = []func(*tls.Config){serving.TLS}
	options.FilterProvider = authorized
	options.CertDir = s.MetricsCertDir
	if s.MetricsCertDir == "" {
		return options, nil
	}
	// The library would serve a certificate of its own where one of the two is missing.
	for _, name := range []string{"tls.crt", "tls.key"} {
		if _, err := os.Stat(filepath.Join(s.MetricsCertDir, name)); err != nil {
			return options, fmt.Errorf("METRICS_CERT_DIR=%q must hold tls.crt and tls.key, or be empty to have a certificate made: %w", s.MetricsCertDir, err)
		}
	}
	return options, nil
}

// expiring is what has a certificate.
type expiring interface {
	Expiry() (time.Time, error)
}

// registerMetrics registers the metrics of this process, whose names begin with a prefix.
func registerMetrics(prefix string, elected <-chan struct{}, webhook expiring) error {
	registry := metrics.Registry
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: prefix + "_build_info",
		Help: "The build of the operator that is running; always 1.",
		ConstLabels: prometheus.Labels{
			"version": version.Version, "revision": version.Commit, "goversion": runtime.Version(),
		},
	})
	build.Set(1)
	leader := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: prefix + "_leader",
		Help: "1 if this replica is the one that acts, else 0.",
	}, func() float64 {
		select {
		case <-elected:
			return 1
		default:
			return 0
		}
	})
	return errors.Join(registry.Register(build), registry.Register(leader), registry.Register(&expiry{
		of: webhook,
		desc: prometheus.NewDesc("critical_service_webhook_certificate_expiry_timestamp_seconds",
			"When the certificate that the webhook serves ceases to be valid, in seconds since 1970; there is no sample while it has none.", nil, nil),
	}))
}

// expiry reports when a certificate expires, if there is one.
type expiry struct {
	of   expiring
	desc *prometheus.Desc
}

// Describe names the metric.
func (e *expiry) Describe(out chan<- *prometheus.Desc) { out <- e.desc }

// Collect looks at the certificate.
func (e *expiry) Collect(out chan<- prometheus.Metric) {
	if end, err := e.of.Expiry(); err == nil {
		out <- prometheus.MustNewConstMetric(e.desc, prometheus.GaugeValue, float64(end.Unix()))
	}
}
