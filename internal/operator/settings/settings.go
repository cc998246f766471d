// Package settings reads the operator's settings from flags and environment.
//
// Every setting is both a flag and an environment variable, so that a ConfigMap
// (envFrom) or an OLM Subscription can give it. A flag wins over a variable, a
// variable over the default. A value that is not allowed is an error that names
// the variable, the value and what is allowed; nothing is replaced silently.
package settings

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Settings are the operator's settings.
type Settings struct {
	// LogLevel is one of debug, info, warn and error.
	LogLevel string
	// LogFormat is json or text.
	LogFormat string
	// Namespaces are those whose Services are looked at; empty is all.
	Namespaces []string
	// Tenants lets teams protect Services of their namespaces with ServiceFallbacks.
	Tenants bool
	// PodTemplate is the name of the core PodTemplate of fallback Pods.
	PodTemplate string
	// PodTemplateNamespace is where the PodTemplate is.
	PodTemplateNamespace string
	// PodNamePrefix begins the name of every fallback Pod.
	PodNamePrefix string
	// ResponderImage is the image of responders; empty is the operator's own.
	ResponderImage string
	// ResponderImagePullSecrets are the names of Secrets, in each namespace with
	// a responder, that the image is pulled with.
	ResponderImagePullSecrets []string
	// ResponderPriorityClass is the priority class of responder Pods.
	ResponderPriorityClass string
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
	// SelfTestInterval is how often each standby is asked for an answer; 0 is never.
	SelfTestInterval time.Duration
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

const (
	defaultOperatorNamespace = "critical-service-system"
	serviceAccountNamespace  = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// setting is one setting: a flag, a variable, and what is allowed.
type setting struct {
	flag, variable, usage string
	// preset is the default, as text.
	preset string
	// bare is what the flag means without a value; empty is not allowed.
	bare string
	// allowed says in words what parse accepts.
	allowed string
	// parse checks a text and takes it over.
	parse func(s *Settings, text string) error
}

// Bind adds a flag for every setting. The returned function reads them, with the
// environment, once the flags are parsed.
func Bind(flags *pflag.FlagSet, environment func(string) (string, bool)) func() (*Settings, error) {
	for _, entry := range all {
		flags.String(entry.flag, "", fmt.Sprintf("%s: %s (env %s%s)", entry.usage, entry.allowed, entry.variable, presetText(entry)))
		flags.Lookup(entry.flag).NoOptDefVal = entry.bare
	}
	return func() (*Settings, error) {
		s := &Settings{OperatorNamespace: operatorNamespace(environment)}
		s.PodName, _ = environment("POD_NAME")
		var problems []error
		for _, entry := range all {
			source, text := textOf(entry, flags, environment)
			if text == "" {
				text = entry.preset
			}
			if err := entry.parse(s, text); err != nil {
				problems = append(problems, fmt.Errorf("%s=%q: %w; allowed: %s", source, text, err, entry.allowed))
			}
		}
		if s.PodTemplateNamespace == "" {
			s.PodTemplateNamespace = s.OperatorNamespace
		}
		if len(problems) > 0 {
			return nil, fmt.Errorf("the settings are not valid:\n%w", errors.Join(problems...))
		}
		return s, nil
	}
}

// textOf is the text given for a setting, and where it was given.
func textOf(entry setting, flags *pflag.FlagSet, environment func(string) (string, bool)) (source, text string) {
	if flag := flags.Lookup(entry.flag); flag.Changed {
		return "--" + entry.flag, strings.TrimSpace(flag.Value.String())
	}
	text, _ = environment(entry.variable)
	return entry.variable, strings.TrimSpace(text)
}

func presetText(entry setting) string {
	if entry.preset == "" {
		return ""
	}
	return ", default " + entry.preset
}

// operatorNamespace is where the operator runs: the downward API says it, or the
// token that every Pod has; outside a cluster it is the usual one.
func operatorNamespace(environment func(string) (string, bool)) string {
	if namespace, found := environment("POD_NAMESPACE"); found && namespace != "" {
		return namespace
	}
	if data, err := os.ReadFile(serviceAccountNamespace); err == nil {
		return strings.TrimSpace(string(data))
	}
	return defaultOperatorNamespace
}

func oneOf(words ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		word := strings.ToLower(text)
		if !slices.Contains(words, word) {
			return "", errors.New("not a known word")
		}
		return word, nil
	}
}
