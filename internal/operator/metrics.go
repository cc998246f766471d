package operator

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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/critical-service/operator/internal/operator/serving"
	"github.com/critical-service/operator/internal/operator/settings"
	"github.com/critical-service/operator/internal/version"
)

// scrapesAtOnce is how many scrapes are answered at the same time.
const scrapesAtOnce = 4

// A client that scrapes sends a token, and the API server says whose it is and
// whether that user may.
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// metricsOptions say how metrics are served.
func metricsOptions(s *settings.Settings) (metricsserver.Options, error) {
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

// registerMetrics registers the metrics of this process.
func registerMetrics(mgr ctrl.Manager, webhook expiring) error {
	return registerIn(metrics.Registry, mgr.Elected(), webhook)
}

func registerIn(registry prometheus.Registerer, elected <-chan struct{}, webhook expiring) error {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "critical_service_operator_build_info",
		Help: "The build of the operator that is running; always 1.",
		ConstLabels: prometheus.Labels{
			"version": version.Version, "revision": version.Commit, "goversion": runtime.Version(),
		},
	})
	build.Set(1)
	leader := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "critical_service_operator_leader",
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
