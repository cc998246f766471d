package setting

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Manager are the settings of a manager, which every operator has.
type Manager struct {
	// LogLevel is one of debug, info, warn and error.
	LogLevel string
	// LogFormat is json or text.
	LogFormat string
	// Namespaces are those that are looked at; empty is all.
	Namespaces []string
	// WebhookPort is where the conversion webhook listens.
	WebhookPort int
	// WebhookCertDir may hold tls.crt and tls.key, which are then served as they
	// are; otherwise certificates are self-made.
	WebhookCertDir string
	// WebhookURL is where the API server reaches a process outside of the
	// cluster; empty is by the Service.
	WebhookURL string
	// OperatorNamespace is where the operator runs and keeps its lease.
	OperatorNamespace string
	// PodName is the operator's own Pod; empty outside of a cluster.
	PodName string
	// MetricsBindAddress is host:port of the metrics; "0" serves none.
	MetricsBindAddress string
	// MetricsSecure serves them over TLS, and only to who may read them.
	MetricsSecure bool
	// MetricsCertDir holds tls.crt and tls.key for that; empty is a certificate made
	// at start.
	MetricsCertDir string
	// HealthProbeBindAddress is host:port of /healthz and /readyz; "0" serves none.
	HealthProbeBindAddress string
	// LeaderElect lets only one of several replicas act.
	LeaderElect bool
	// KubeAPIQPS is the client-side limit of requests per second; -1 leaves
	// limits to the API server's priority and fairness.
	KubeAPIQPS float32
	// KubeAPIBurst is how many requests may be sent at once under KubeAPIQPS.
	KubeAPIBurst int
}

// ofManager lists them.
func ofManager(s *Manager) []Setting {
	return slices.Concat(ofWork(s), ofWebhook(s), ofLog(s), ofMetrics(s), ofClient(s))
}

// ofWork are where the operator works, whether it does, and how that is seen.
func ofWork(s *Manager) []Setting {
	return []Setting{
		{
			Flag: "namespaces", Variable: "NAMESPACES",
			Usage:   "namespaces that are looked at; empty is all",
			Allowed: "namespace names separated by commas",
			Parse: func(text string) (err error) {
				s.Namespaces, err = Names(text, "a namespace's name", validation.IsDNS1123Label)
				return err
			},
		},
		{
			Flag: "leader-elect", Variable: "LEADER_ELECT", Preset: "true", Bare: "true",
			Usage: "let only one of several replicas act", Allowed: "true or false",
			Parse: Switch(&s.LeaderElect),
		},
		{
			Flag: "health-probe-bind-address", Variable: "HEALTH_PROBE_BIND_ADDRESS", Preset: ":8081",
			Usage: "where /healthz and /readyz are served", Allowed: "host:port, :port, or 0 for none",
			Parse: func(text string) (err error) {
				s.HealthProbeBindAddress, err = text, bindAddress(text)
				return err
			},
		},
	}
}

func ofWebhook(s *Manager) []Setting {
	return []Setting{
		{
			Flag: "webhook-port", Variable: "WEBHOOK_PORT", Preset: "9443",
			Usage: "where the conversion webhook listens", Allowed: "a port from 1 to 65535",
			Parse: func(text string) error {
				port, err := strconv.Atoi(text)
				if err != nil || port < 1 || port > 65535 {
					return errors.New("not a port")
				}
				s.WebhookPort = port
				return nil
			},
		},
		{
			Flag: "webhook-cert-dir", Variable: "WEBHOOK_CERT_DIR", Preset: "/tmp/k8s-webhook-server/serving-certs",
			Usage:   "a folder that may hold the webhook's tls.crt and tls.key; if it does not, certificates are self-made",
			Allowed: "an absolute path",
			Parse: func(text string) error {
				s.WebhookCertDir = text
				if !filepath.IsAbs(text) {
					return errors.New("not an absolute path")
				}
				return nil
			},
		},
		{
			Flag: "webhook-url", Variable: "WEBHOOK_URL",
			Usage:   "where the API server reaches the webhook of an operator outside of the cluster; empty is by the Service",
			Allowed: "https://host:port",
			Parse: func(text string) error {
				s.WebhookURL = text
				return httpsAddress(text)
			},
		},
	}
}

func ofLog(s *Manager) []Setting {
	return []Setting{
		{
			Flag: "log-level", Variable: "LOG_LEVEL", Preset: "info",
			Usage: "least severe level that is logged", Allowed: "debug, info, warn or error",
			Parse: func(text string) (err error) {
				if strings.EqualFold(text, "warning") {
					text = "warn"
				}
				s.LogLevel, err = oneOf("debug", "info", "warn", "error")(text)
				return err
			},
		},
		{
			Flag: "log-format", Variable: "LOG_FORMAT", Preset: "json",
			Usage: "how log lines are written", Allowed: "json or text",
			Parse: Word(&s.LogFormat, "json", "text"),
		},
	}
}

func ofMetrics(s *Manager) []Setting {
	return []Setting{
		{
			Flag: "metrics-bind-address", Variable: "METRICS_BIND_ADDRESS", Preset: ":8443",
			Usage: "where metrics are served", Allowed: "host:port, :port, or 0 for none",
			Parse: func(text string) (err error) {
				s.MetricsBindAddress, err = text, bindAddress(text)
				return err
			},
		},
		{
			Flag: "metrics-secure", Variable: "METRICS_SECURE", Preset: "true", Bare: "true",
			Usage: "serve metrics over TLS, and only to who may read them", Allowed: "true or false",
			Parse: Switch(&s.MetricsSecure),
		},
		{
			Flag: "metrics-cert-dir", Variable: "METRICS_CERT_DIR",
			Usage:   "a folder with the tls.crt and tls.key that metrics are served with; empty is a certificate made at start",
			Allowed: "an absolute path, or empty",
			Parse: func(text string) error {
				s.MetricsCertDir = text
				if text != "" && !filepath.IsAbs(text) {
					return errors.New("not an absolute path")
				}
				return nil
			},
		},
	}
}

func ofClient(s *Manager) []Setting {
	return []Setting{
		{
			Flag: "kube-api-qps", Variable: "KUBE_API_QPS", Preset: "-1",
			Usage:   "requests per second to the API server",
			Allowed: "a number above 0, or -1 to leave limits to the API server",
			Parse: func(text string) error {
				qps, err := strconv.ParseFloat(text, 32)
				if inRange := qps > 0 && qps <= 1e6; err != nil || !inRange && qps != -1 {
					return errors.New("not such a number")
				}
				s.KubeAPIQPS = float32(qps)
				return nil
			},
		},
		{
			Flag: "kube-api-burst", Variable: "KUBE_API_BURST", Preset: "100",
			Usage: "requests that may be sent at once under kube-api-qps", Allowed: "a whole number from 1 to 1000000",
			Parse: func(text string) error {
				burst, err := strconv.Atoi(text)
				if err != nil || burst < 1 || burst > 1e6 {
					return errors.New("not such a number")
				}
				s.KubeAPIBurst = burst
				return nil
			},
		},
	}
}
