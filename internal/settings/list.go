package settings

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// maxPrefix leaves room in a Pod's name for the Service's name.
const maxPrefix = 40

// all lists the settings in the order of `manager --help`.
var all = []setting{
	{
		flag: "namespaces", variable: "NAMESPACES",
		usage:   "namespaces whose Services are looked at; empty is all",
		allowed: "namespace names separated by commas",
		parse: func(s *Settings, text string) (err error) {
			s.Namespaces, err = namespaces(text)
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
		flag: "metrics-bind-address", variable: "METRICS_BIND_ADDRESS", preset: ":8080",
		usage: "where metrics are served", allowed: "host:port, :port, or 0 for none",
		parse: func(s *Settings, text string) (err error) {
			s.MetricsBindAddress, err = text, bindAddress(text)
			return err
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

func namespaces(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if valid(validation.IsDNS1123Label(name)) != nil {
			return nil, fmt.Errorf("%q is not a namespace's name", name)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
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
