// Package settings are those of the core.
package settings

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/critical-service/operator/internal/operator/setting"
)

// defaultNamespace is where config/ installs the operator.
const defaultNamespace = "critical-service-system"

// Settings are the operator's settings.
type Settings struct {
	setting.Manager
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
	// ResponderMaxReplicas is the greatest number of Pods of a responder that scales with its load; 0 if none does.
	ResponderMaxReplicas int32
	// Monitoring is auto or off.
	Monitoring string
	// SelfTestInterval is how often each standby is asked for an answer; 0 is never.
	SelfTestInterval time.Duration
}

// Bind adds a flag for every setting. The returned function reads them, with the
// environment, once the flags are parsed.
func Bind(flags *pflag.FlagSet, environment setting.Environment) func() (*Settings, error) {
	s := &Settings{}
	read := setting.Bind(flags, environment, &s.Manager, defaultNamespace, own(s))
	return func() (*Settings, error) {
		if err := read(); err != nil {
			return nil, err
		}
		if s.PodTemplateNamespace == "" {
			s.PodTemplateNamespace = s.OperatorNamespace
		}
		return s, nil
	}
}
