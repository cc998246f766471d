package settings

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/distribution/reference"
	"k8s.io/apimachinery/pkg/util/validation"
)

// maxPrefix leaves room in a Pod's name for the Service's name.
const maxPrefix = 40

// Bounds of the interval between two self-tests of a standby: more often
// would be needless load, less often would report a failure too late.
const (
	shortestSelfTest = 10 * time.Second
	longestSelfTest  = time.Hour
)

// all lists the settings in the order of `manager --help`.
var all = []setting{
	{
		flag: "namespaces", variable: "NAMESPACES",
		usage:   "namespaces whose Services are looked at; empty is all",
		allowed: "namespace names separated by commas",
		parse: func(s *Settings, text string) (err error) {
			s.Namespaces, err = names(text, "a namespace's name", validation.IsDNS1123Label)
			return err
		},
	},
	{
		flag: "tenants", variable: "TENANTS", preset: "true", bare: "true",
		usage: "let teams protect Services of their namespaces with ServiceFallbacks", allowed: "true or false",
		parse: func(s *Settings, text string) error {
			word, err := oneOf("true", "false")(text)
			s.Tenants = word == "true"
			return err
		},
	},
	{
		flag: "pod-template", variable: "POD_TEMPLATE", preset: "critical-service-pod-template",
		usage:   "core PodTemplate that fallback Pods are made from",
		allowed: "the name of a PodTemplate",
		parse: func(s *Settings, text string) error {
			s.PodTemplate = text
			return valid(validation.IsDNS1123Subdomain(text))
		},
	},
	{
		flag: "pod-template-namespace", variable: "POD_TEMPLATE_NS",
		usage:   "where the PodTemplate is; empty is the operator's own namespace",
		allowed: "a namespace's name",
		parse: func(s *Settings, text string) error {
			s.PodTemplateNamespace = text
			if text == "" {
				return nil
			}
			return valid(validation.IsDNS1123Label(text))
		},
	},
	{
		flag: "pod-name-prefix", variable: "POD_NAME_PREFIX", preset: "service-watcher",
		usage:   "what the name of every fallback Pod begins with",
		allowed: fmt.Sprintf("at most %d lower-case letters, digits and '-', beginning and ending with a letter or digit", maxPrefix),
		parse: func(s *Settings, text string) error {
			s.PodNamePrefix = text
			if len(text) > maxPrefix {
				return fmt.Errorf("it has %d characters", len(text))
			}
			return valid(validation.IsDNS1123Label(text))
		},
	},
	{
		flag: "responder-image", variable: "RESPONDER_IMAGE",
		usage:   "the image of responders; empty is that of the operator's own Pod",
		allowed: "the reference of an image",
		parse: func(s *Settings, text string) (err error) {
			s.ResponderImage = text
			if text != "" {
				_, err = reference.ParseNormalizedNamed(text)
			}
			return err
		},
	},
	{
		flag: "responder-image-pull-secrets", variable: "RESPONDER_IMAGE_PULL_SECRETS",
		usage:   "Secrets that the image of responders is pulled with, in the namespace of each responder",
		allowed: "names of Secrets separated by commas",
		parse: func(s *Settings, text string) (err error) {
			s.ResponderImagePullSecrets, err = names(text, "a Secret's name", validation.IsDNS1123Subdomain)
			return err
		},
	},
	{
		flag: "responder-priority-class", variable: "RESPONDER_PRIORITY_CLASS",
		usage:   "the priority class of responder Pods; empty is the cluster's default",
		allowed: "the name of a PriorityClass",
		parse: func(s *Settings, text string) error {
			s.ResponderPriorityClass = text
			if text == "" {
				return nil
			}
			return valid(validation.IsDNS1123Subdomain(text))
		},
	},
	{
		flag: "webhook-port", variable: "WEBHOOK_PORT", preset: "9443",
		usage: "where the conversion webhook listens", allowed: "a port from 1 to 65535",
		parse: func(s *Settings, text string) error {
			port, err := strconv.Atoi(text)
			if err != nil || port < 1 || port > 65535 {
				return errors.New("not a port")
			}
			s.WebhookPort = port
			return nil
		},
	},
	{
		flag: "webhook-cert-dir", variable: "WEBHOOK_CERT_DIR", preset: "/tmp/k8s-webhook-server/serving-certs",
		usage:   "a folder that may hold the webhook's tls.crt and tls.key; if it does not, certificates are self-made",
		allowed: "an absolute path",
		parse: func(s *Settings, text string) error {
			s.WebhookCertDir = text
			if !filepath.IsAbs(text) {
				return errors.New("not an absolute path")
			}
			return nil
		},
	},
	{
		flag: "webhook-url", variable: "WEBHOOK_URL",
		usage:   "where the API server reaches the webhook of an operator outside of the cluster; empty is by the Service",
		allowed: "https://host:port",
		parse: func(s *Settings, text string) error {
			s.WebhookURL = text
			return httpsAddress(text)
		},
	},
	{
		flag: "log-level", variable: "LOG_LEVEL", preset: "info",
		usage: "least severe level that is logged", allowed: "debug, info, warn or error",
		parse: func(s *Settings, text string) (err error) {
			if strings.EqualFold(text, "warning") {
				text = "warn"
			}
			s.LogLevel, err = oneOf("debug", "info", "warn", "error")(text)
			return err
		},
	},
	{
		flag: "log-format", variable: "LOG_FORMAT", preset: "json",
		usage: "how log lines are written", allowed: "json or text",
		parse: func(s *Settings, text string) (err error) {
			s.LogFormat, err = oneOf("json", "text")(text)
			return err
		},
	},
	{
		flag: "metrics-bind-address", variable: "METRICS_BIND_ADDRESS", preset: ":8443",
		usage: "where metrics are served", allowed: "host:port, :port, or 0 for none",
		parse: func(s *Settings, text string) (err error) {
			s.MetricsBindAddress, err = text, bindAddress(text)
			return err
		},
	},
	{
		flag: "metrics-secure", variable: "METRICS_SECURE", preset: "true", bare: "true",
		usage: "serve metrics over TLS, and only to who may read them", allowed: "true or false",
		parse: func(s *Settings, text string) error {
			word, err := oneOf("true", "false")(text)
			s.MetricsSecure = word == "true"
			return err
		},
	},
	{
		flag: "metrics-cert-dir", variable: "METRICS_CERT_DIR",
		usage:   "a folder with the tls.crt and tls.key that metrics are served with; empty is a certificate made at start",
		allowed: "an absolute path, or empty",
		parse: func(s *Settings, text string) error {
			s.MetricsCertDir = text
			if text != "" && !filepath.IsAbs(text) {
				return errors.New("not an absolute path")
			}
			return nil
		},
	},
	{
		flag: "self-test-interval", variable: "SELF_TEST_INTERVAL", preset: "60s",
		usage:   "how often each standby is asked for an answer; 0s is never",
		allowed: "0s, or a time from 10s to 1h",
		parse: func(s *Settings, text string) error {
			interval, err := time.ParseDuration(text)
			if err != nil {
				return errors.New("not a time with its unit")
			}
			s.SelfTestInterval = interval
			if interval != 0 && (interval < shortestSelfTest || interval > longestSelfTest) {
				return errors.New("out of bounds")
			}
			return nil
		},
	},
	{
		flag: "health-probe-bind-address", variable: "HEALTH_PROBE_BIND_ADDRESS", preset: ":8081",
		usage: "where /healthz and /readyz are served", allowed: "host:port, :port, or 0 for none",
		parse: func(s *Settings, text string) (err error) {
			s.HealthProbeBindAddress, err = text, bindAddress(text)
			return err
		},
	},
	{
		flag: "leader-elect", variable: "LEADER_ELECT", preset: "true", bare: "true",
		usage: "let only one of several replicas act", allowed: "true or false",
		parse: func(s *Settings, text string) error {
			word, err := oneOf("true", "false")(text)
			s.LeaderElect = word == "true"
			return err
		},
	},
	{
		flag: "kube-api-qps", variable: "KUBE_API_QPS", preset: "-1",
		usage:   "requests per second to the API server",
		allowed: "a number above 0, or -1 to leave limits to the API server",
		parse: func(s *Settings, text string) error {
			qps, err := strconv.ParseFloat(text, 32)
			if inRange := qps > 0 && qps <= 1e6; err != nil || !inRange && qps != -1 {
				return errors.New("not such a number")
			}
			s.KubeAPIQPS = float32(qps)
			return nil
		},
	},
	{
		flag: "kube-api-burst", variable: "KUBE_API_BURST", preset: "100",
		usage: "requests that may be sent at once under kube-api-qps", allowed: "a whole number from 1 to 1000000",
		parse: func(s *Settings, text string) error {
			burst, err := strconv.Atoi(text)
			if err != nil || burst < 1 || burst > 1e6 {
				return errors.New("not such a number")
			}
			s.KubeAPIBurst = burst
			return nil
		},
	},
}

// names reads names separated by commas; each must pass a check.
func names(text, what string, check func(string) []string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var found []string
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if valid(check(name)) != nil {
			return nil, fmt.Errorf("%q is not %s", name, what)
		}
		found = append(found, name)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// httpsAddress checks a URL that has a host, maybe a port, and nothing else.
func httpsAddress(text string) error {
	if text == "" {
		return nil
	}
	address, err := url.Parse(text)
	if err != nil {
		return errors.New("not a URL")
	}
	if address.Hostname() == "" || text != "https://"+address.Host {
		return errors.New("not a URL of https, a host and a port alone")
	}
	return nil
}

func bindAddress(text string) error {
	if text == "0" {
		return nil
	}
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return errors.New("not a host and a port")
	}
	if number, err := strconv.Atoi(port); err != nil || number < 0 || number > 65535 {
		return fmt.Errorf("%q is not a port", port)
	}
	return nil
}

// valid turns the findings of a Kubernetes name check into one short error: what
// is allowed is said by the setting.
func valid(findings []string) error {
	if len(findings) == 0 {
		return nil
	}
	return errors.New("not a valid name")
}
