package settings_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	"github.com/critical-service/operator/internal/operator/setting"
	"github.com/critical-service/operator/internal/operator/settings"
)

func read(arguments []string, environment map[string]string) (*settings.Settings, error) {
	flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	finish := settings.Bind(flags, func(name string) (string, bool) {
		value, found := environment[name]
		return value, found
	})
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	return finish()
}

func TestDefaults(t *testing.T) {
	g := NewWithT(t)
	s, err := read(nil, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*s).To(Equal(settings.Settings{
		Manager: setting.Manager{
			LogLevel: "info", LogFormat: "json", OperatorNamespace: "critical-service-system",
			MetricsBindAddress: ":8443", MetricsSecure: true, HealthProbeBindAddress: ":8081",
			LeaderElect: true, KubeAPIQPS: -1, KubeAPIBurst: 100,
			WebhookPort: 9443, WebhookCertDir: "/tmp/k8s-webhook-server/serving-certs",
		},
		Tenants:     true,
		PodTemplate: "critical-service-pod-template", PodTemplateNamespace: "critical-service-system",
		PodNamePrefix: "service-watcher", SelfTestInterval: time.Minute, Monitoring: "auto",
	}))
}

func TestWhereAValueComesFrom(t *testing.T) {
	prefix := func(s *settings.Settings) string { return s.PodNamePrefix }
	tests := map[string]struct {
		arguments   []string
		environment map[string]string
		of          func(*settings.Settings) string
		want        string
	}{
		"a variable wins over the default": {nil, map[string]string{"POD_NAME_PREFIX": "env"}, prefix, "env"},
		"a flag wins over a variable":      {[]string{"--pod-name-prefix=flag"}, map[string]string{"POD_NAME_PREFIX": "env"}, prefix, "flag"},
		"an empty variable is none":        {nil, map[string]string{"POD_NAME_PREFIX": ""}, prefix, "service-watcher"},
		"a level may be written in capitals, as the source document does": {
			nil, map[string]string{"LOG_LEVEL": "INFO"}, func(s *settings.Settings) string { return s.LogLevel }, "info",
		},
		"namespaces are trimmed, sorted and named once": {
			nil, map[string]string{"NAMESPACES": "web, default,web"},
			func(s *settings.Settings) string { return strings.Join(s.Namespaces, ",") }, "default,web",
		},
		"templates are looked for in the operator's own namespace": {
			nil, map[string]string{"POD_NAMESPACE": "ops"},
			func(s *settings.Settings) string { return s.PodTemplateNamespace }, "ops",
		},
		"unless another is named": {
			nil, map[string]string{"POD_NAMESPACE": "ops", "POD_TEMPLATE_NS": "linux-mag"},
			func(s *settings.Settings) string { return s.PodTemplateNamespace }, "linux-mag",
		},
		"a Pod knows its name": {
			nil, map[string]string{"POD_NAME": "operator-abc"}, func(s *settings.Settings) string { return s.PodName }, "operator-abc",
		},
		"responders have an image of their own": {
			nil, map[string]string{"RESPONDER_IMAGE": "registry.example.com:5000/operator@sha256:" + strings.Repeat("ab", 32)},
			func(s *settings.Settings) string { return s.ResponderImage },
			"registry.example.com:5000/operator@sha256:" + strings.Repeat("ab", 32),
		},
		"pull secrets are trimmed, sorted and named once": {
			nil, map[string]string{"RESPONDER_IMAGE_PULL_SECRETS": "quay, harbor.example.com,quay"},
			func(s *settings.Settings) string { return strings.Join(s.ResponderImagePullSecrets, ",") }, "harbor.example.com,quay",
		},
		"responders have a priority": {
			nil, map[string]string{"RESPONDER_PRIORITY_CLASS": "business-critical"},
			func(s *settings.Settings) string { return s.ResponderPriorityClass }, "business-critical",
		},
		"a webhook outside of the cluster has a name": {
			nil, map[string]string{"WEBHOOK_URL": "https://host.docker.internal:9443"},
			func(s *settings.Settings) string { return s.WebhookURL }, "https://host.docker.internal:9443",
		},
		"the self-test can be off": {
			nil, map[string]string{"SELF_TEST_INTERVAL": "0s"},
			func(s *settings.Settings) string { return s.SelfTestInterval.String() }, "0s",
		},
		"or as seldom as once an hour": {
			nil, map[string]string{"SELF_TEST_INTERVAL": "1h"},
			func(s *settings.Settings) string { return s.SelfTestInterval.String() }, "1h0m0s",
		},
		"metrics have a certificate of their own": {
			nil, map[string]string{"METRICS_CERT_DIR": "/etc/metrics"},
			func(s *settings.Settings) string { return s.MetricsCertDir }, "/etc/metrics",
		},
		"monitoring can be off": {
			nil, map[string]string{"MONITORING": "Off"}, func(s *settings.Settings) string { return s.Monitoring }, "off",
		},
		"or an address": {
			nil, map[string]string{"WEBHOOK_URL": "https://[::1]:9443"},
			func(s *settings.Settings) string { return s.WebhookURL }, "https://[::1]:9443",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s, err := read(test.arguments, test.environment)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(test.of(s)).To(Equal(test.want))
		})
	}
}

func TestAFlagWithoutValueElectsALeader(t *testing.T) {
	g := NewWithT(t)
	s, err := read([]string{"--leader-elect"}, map[string]string{"LEADER_ELECT": "false"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.LeaderElect).To(BeTrue())
}

func TestMetricsMayBeServedInPlainHTTP(t *testing.T) {
	g := NewWithT(t)
	s, err := read(nil, map[string]string{"METRICS_SECURE": "false"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.MetricsSecure).To(BeFalse())
	s, err = read([]string{"--metrics-secure"}, map[string]string{"METRICS_SECURE": "false"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.MetricsSecure).To(BeTrue())
}

func TestAValueThatIsNotAllowedStopsTheStart(t *testing.T) {
	tests := map[string]struct {
		arguments   []string
		environment map[string]string
		want        []string
	}{
		"an unknown level":               {nil, map[string]string{"LOG_LEVEL": "loud"}, []string{`LOG_LEVEL="loud"`, "debug, info, warn or error"}},
		"monitoring by a Boolean":        {nil, map[string]string{"MONITORING": "false"}, []string{`MONITORING="false"`, "auto or off"}},
		"an unknown format":              {nil, map[string]string{"LOG_FORMAT": "xml"}, []string{`LOG_FORMAT="xml"`, "json or text"}},
		"a namespace that cannot be":     {nil, map[string]string{"NAMESPACES": "web,Shop"}, []string{"NAMESPACES=", `"Shop"`}},
		"a comma too many":               {nil, map[string]string{"NAMESPACES": "web,,shop"}, []string{"NAMESPACES=", `""`}},
		"a template that cannot be":      {nil, map[string]string{"POD_TEMPLATE": "a/b"}, []string{`POD_TEMPLATE="a/b"`}},
		"a prefix in capitals":           {nil, map[string]string{"POD_NAME_PREFIX": "Watcher"}, []string{`POD_NAME_PREFIX="Watcher"`, "lower-case"}},
		"a prefix that is too long":      {nil, map[string]string{"POD_NAME_PREFIX": strings.Repeat("a", 41)}, []string{"41 characters", "at most 40"}},
		"a word for a switch":            {nil, map[string]string{"LEADER_ELECT": "maybe"}, []string{`LEADER_ELECT="maybe"`, "true or false"}},
		"no requests at all":             {nil, map[string]string{"KUBE_API_QPS": "0"}, []string{`KUBE_API_QPS="0"`, "-1"}},
		"no number of requests":          {nil, map[string]string{"KUBE_API_QPS": "NaN"}, []string{`KUBE_API_QPS="NaN"`}},
		"a burst of nothing":             {nil, map[string]string{"KUBE_API_BURST": "0"}, []string{`KUBE_API_BURST="0"`}},
		"an address without port":        {nil, map[string]string{"METRICS_BIND_ADDRESS": "localhost"}, []string{`METRICS_BIND_ADDRESS="localhost"`, "host:port"}},
		"a port that cannot be":          {nil, map[string]string{"HEALTH_PROBE_BIND_ADDRESS": ":99999"}, []string{`"99999" is not a port`}},
		"half a secure server":           {nil, map[string]string{"METRICS_SECURE": "tls"}, []string{`METRICS_SECURE="tls"`, "true or false"}},
		"a folder of metrics that moves": {nil, map[string]string{"METRICS_CERT_DIR": "certs"}, []string{`METRICS_CERT_DIR="certs"`, "absolute"}},
		"a self-test without a unit":     {nil, map[string]string{"SELF_TEST_INTERVAL": "60"}, []string{`SELF_TEST_INTERVAL="60"`, "unit"}},
		"a self-test too often":          {nil, map[string]string{"SELF_TEST_INTERVAL": "9s"}, []string{`SELF_TEST_INTERVAL="9s"`, "from 10s to 1h"}},
		"a self-test too seldom":         {nil, map[string]string{"SELF_TEST_INTERVAL": "61m"}, []string{`SELF_TEST_INTERVAL="61m"`, "from 10s to 1h"}},
		"a self-test into the past":      {nil, map[string]string{"SELF_TEST_INTERVAL": "-1m"}, []string{`SELF_TEST_INTERVAL="-1m"`, "bounds"}},
		"an image that cannot be":        {nil, map[string]string{"RESPONDER_IMAGE": "Registry/Image"}, []string{`RESPONDER_IMAGE="Registry/Image"`, "reference of an image"}},
		"a pull secret that cannot be":   {nil, map[string]string{"RESPONDER_IMAGE_PULL_SECRETS": "quay,my_secret"}, []string{`"my_secret" is not a Secret's name`}},
		"a priority that cannot be":      {nil, map[string]string{"RESPONDER_PRIORITY_CLASS": "High"}, []string{`RESPONDER_PRIORITY_CLASS="High"`, "PriorityClass"}},
		"no port for the webhook":        {nil, map[string]string{"WEBHOOK_PORT": "0"}, []string{`WEBHOOK_PORT="0"`, "1 to 65535"}},
		"a port that is a word":          {nil, map[string]string{"WEBHOOK_PORT": "https"}, []string{`WEBHOOK_PORT="https"`}},
		"a folder that moves":            {nil, map[string]string{"WEBHOOK_CERT_DIR": "certs"}, []string{`WEBHOOK_CERT_DIR="certs"`, "absolute"}},
		"a webhook without TLS":          {nil, map[string]string{"WEBHOOK_URL": "http://host:9443"}, []string{`WEBHOOK_URL="http://host:9443"`, "https://host:port"}},
		"a webhook with a path":          {nil, map[string]string{"WEBHOOK_URL": "https://host:9443/convert"}, []string{"a host and a port alone"}},
		"a webhook without a host":       {nil, map[string]string{"WEBHOOK_URL": "https://:9443"}, []string{`WEBHOOK_URL="https://:9443"`}},
		"no URL for the webhook":         {nil, map[string]string{"WEBHOOK_URL": "https://ho st:1"}, []string{"not a URL"}},
		"a flag is named as it is used":  {[]string{"--log-level=loud"}, nil, []string{`--log-level="loud"`}},
		"all problems are named at once": {
			nil, map[string]string{"LOG_LEVEL": "loud", "POD_TEMPLATE_NS": "Linux"}, []string{"LOG_LEVEL", "POD_TEMPLATE_NS"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := read(test.arguments, test.environment)
			for _, want := range test.want {
				g.Expect(err).To(MatchError(ContainSubstring(want)))
			}
		})
	}
}
