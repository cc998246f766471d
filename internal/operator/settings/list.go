package settings

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/critical-service/operator/internal/operator/setting"
)

// maxPrefix leaves room in a Pod's name for the Service's name.
const maxPrefix = 40

// Bounds of the interval between two self-tests of a standby: more often
// would be needless load, less often would report a failure too late.
const (
	shortestSelfTest = 10 * time.Second
	longestSelfTest  = time.Hour
)

// own lists the settings that only the core has.
func own(s *Settings) []setting.Setting {
	return slices.Concat(ofProtection(s), ofTemplates(s), ofResponders(s), ofMonitoring(s))
}

func ofProtection(s *Settings) []setting.Setting {
	return []setting.Setting{
		{
			Flag: "tenants", Variable: "TENANTS", Preset: "true", Bare: "true",
			Usage: "let teams protect Services of their namespaces with ServiceFallbacks", Allowed: "true or false",
			Parse: setting.Switch(&s.Tenants),
		},
		{
			Flag: "self-test-interval", Variable: "SELF_TEST_INTERVAL", Preset: "60s",
			Usage:   "how often each standby is asked for an answer; 0s is never",
			Allowed: "0s, or a time from 10s to 1h",
			Parse: func(text string) error {
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
	}
}

func ofTemplates(s *Settings) []setting.Setting {
	return []setting.Setting{
		{
			Flag: "pod-template", Variable: "POD_TEMPLATE", Preset: "critical-service-pod-template",
			Usage:   "core PodTemplate that fallback Pods are made from",
			Allowed: "the name of a PodTemplate",
			Parse: func(text string) error {
				s.PodTemplate = text
				return setting.Valid(validation.IsDNS1123Subdomain(text))
			},
		},
		{
			Flag: "pod-template-namespace", Variable: "POD_TEMPLATE_NS",
			Usage:   "where the PodTemplate is; empty is the operator's own namespace",
			Allowed: "a namespace's name",
			Parse: func(text string) error {
				s.PodTemplateNamespace = text
				if text == "" {
					return nil
				}
				return setting.Valid(validation.IsDNS1123Label(text))
			},
		},
		{
			Flag: "pod-name-prefix", Variable: "POD_NAME_PREFIX", Preset: "service-watcher",
			Usage:   "what the name of every fallback Pod begins with",
			Allowed: fmt.Sprintf("at most %d lower-case letters, digits and '-', beginning and ending with a letter or digit", maxPrefix),
			Parse: func(text string) error {
				s.PodNamePrefix = text
				if len(text) > maxPrefix {
					return fmt.Errorf("it has %d characters", len(text))
				}
				return setting.Valid(validation.IsDNS1123Label(text))
			},
		},
	}
}

func ofResponders(s *Settings) []setting.Setting {
	return []setting.Setting{
		{
			Flag: "responder-image", Variable: "RESPONDER_IMAGE",
			Usage:   "the image of responders; empty is that of the operator's own Pod",
			Allowed: "the reference of an image",
			Parse:   setting.Image(&s.ResponderImage),
		},
		{
			Flag: "responder-image-pull-secrets", Variable: "RESPONDER_IMAGE_PULL_SECRETS",
			Usage:   "Secrets that the image of responders is pulled with, in the namespace of each responder",
			Allowed: "names of Secrets separated by commas",
			Parse: func(text string) (err error) {
				s.ResponderImagePullSecrets, err = setting.Names(text, "a Secret's name", validation.IsDNS1123Subdomain)
				return err
			},
		},
		{
			Flag: "responder-priority-class", Variable: "RESPONDER_PRIORITY_CLASS",
			Usage:   "the priority class of responder Pods; empty is the cluster's default",
			Allowed: "the name of a PriorityClass",
			Parse: func(text string) error {
				s.ResponderPriorityClass = text
				if text == "" {
					return nil
				}
				return setting.Valid(validation.IsDNS1123Subdomain(text))
			},
		},
		{
			Flag: "responder-max-replicas", Variable: "RESPONDER_MAX_REPLICAS", Preset: "0",
			Usage:   "up to how many Pods a responder scales with its load; 0 is that none scales",
			Allowed: "a number from 0 to 100",
			Parse: func(text string) error {
				most, err := strconv.ParseInt(text, 10, 32)
				if err == nil && (most < 0 || most > 100) {
					err = errors.New("it is not from 0 to 100")
				}
				s.ResponderMaxReplicas = int32(most)
				return err
			},
		},
	}
}

func ofMonitoring(s *Settings) []setting.Setting {
	return []setting.Setting{{
		Flag: "monitoring", Variable: "MONITORING", Preset: "auto",
		Usage:   "auto keeps the operator's ServiceMonitor, PodMonitor, PrometheusRule and dashboard where the Prometheus operator is; off removes them",
		Allowed: "auto or off",
		Parse:   setting.Word(&s.Monitoring, "auto", "off"),
	}}
}
