package manager

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/critical-service/operator/internal/operator/serving"
	"github.com/critical-service/operator/internal/operator/setting"
	"github.com/critical-service/operator/internal/version"
)

// scrapesAtOnce is how many scrapes are answered at the same time, and scrapeConnections how many
// connections may be open. The library's own server takes any number of them, each with a header
// of 1 MiB, and every Pod of the cluster may open some.
const (
	scrapesAtOnce     = 4
	scrapeConnections = 64
)

// addMetrics adds what scrapers ask.
func addMetrics(mgr ctrl.Manager, s *setting.Manager) error {
	if s.MetricsBindAddress == "0" {
		return nil
	}
	mux := http.NewServeMux()
	server := &ctrlmanager.Server{Name: "metrics", Server: serving.Server(mux, scrapeConnections), ShutdownTimeout: new(time.Second)}
	server.Server.Addr = s.MetricsBindAddress
	handler := promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: scrapesAtOnce})
	if s.MetricsSecure {
		var err error
		if handler, err = authorized(mgr.GetConfig(), mgr.GetHTTPClient(), handler); err != nil {
			return err
		}
		if server.Listener, err = listenForScrapers(mgr, s); err != nil {
			return err
		}
	}
	mux.Handle("/metrics", handler)
	return mgr.Add(server)
}

// listenForScrapers listens with the certificate that is given, or with one that is made now: a
// scraper that trusts no other is given one.
func listenForScrapers(mgr ctrl.Manager, s *setting.Manager) (net.Listener, error) {
	config := &tls.Config{}
	serving.TLS(config)
	if s.MetricsCertDir == "" {
		certificate, err := selfSigned()
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{certificate}
	} else {
		watcher, err := certwatcher.New(filepath.Join(s.MetricsCertDir, "tls.crt"), filepath.Join(s.MetricsCertDir, "tls.key"))
		if err != nil {
			return nil, fmt.Errorf("METRICS_CERT_DIR=%q must hold tls.crt and tls.key, or be empty to have a certificate made: %w", s.MetricsCertDir, err)
		}
		config.GetCertificate = watcher.GetCertificate
		if err := mgr.Add(watcher); err != nil {
			return nil, err
		}
	}
	listener, err := tls.Listen("tcp", s.MetricsBindAddress, config)
	if err != nil {
		return nil, fmt.Errorf("listen for scrapers on METRICS_BIND_ADDRESS=%q: %w", s.MetricsBindAddress, err)
	}
	return listener, nil
}

func selfSigned() (tls.Certificate, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate for the metrics: %w", err)
	}
	return tls.X509KeyPair(certificate, key)
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
