//go:build e2e

package soak

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// standIn is the PodTemplate of the world, and what Pods made from it answer with.
const standIn = "stand-in"

// protection is how the Service of its name is protected.
type protection struct {
	service string
	// team: by a ServiceFallback, and not by a CriticalService.
	team                           bool
	activationDelay, demotionDelay time.Duration
	fallback                       func(namespace string) criticalv2.Fallback
}

// protections are all kinds of fallbacks, some with delays.
var protections = []protection{
	{service: "page", fallback: page},
	{service: "page-delayed", activationDelay: 2 * time.Second, demotionDelay: 5 * time.Second, fallback: page},
	{service: "pod-standby", fallback: podOf(criticalv2.ActivationStandby)},
	{service: "pod-on-demand", demotionDelay: 3 * time.Second, fallback: podOf(criticalv2.ActivationOnDemand)},
	{service: "backup", fallback: func(string) criticalv2.Fallback {
		return criticalv2.Fallback{Service: &criticalv2.BackupFallback{Name: spare}}
	}},
	{service: "team", team: true, fallback: page},
	{service: "team-pod", team: true, demotionDelay: 2 * time.Second, fallback: func(string) criticalv2.Fallback {
		return criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{Name: standIn, Activation: criticalv2.ActivationStandby}}
	}},
}

// page is that of the built-in responder, which has two replicas: one may be deleted.
func page(string) criticalv2.Fallback {
	return criticalv2.Fallback{Page: &criticalv2.PageFallback{Message: "Closed for a moment.", Replicas: new(int32(2))}}
}

func podOf(activation criticalv2.Activation) func(namespace string) criticalv2.Fallback {
	return func(namespace string) criticalv2.Fallback {
		return criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{Name: standIn, Namespace: namespace, Activation: activation}}
	}
}

func serviceNames() []string {
	var names []string
	for _, protection := range protections {
		names = append(names, protection.service)
	}
	return names
}

// policy is what protects the Service.
func (p *protection) policy(namespace string) criticalv2.Policy {
	spec := criticalv2.ProtectionSpec{
		ActivationDelay: metav1.Duration{Duration: p.activationDelay}, DeactivationDelay: metav1.Duration{Duration: p.demotionDelay},
		Fallback: p.fallback(namespace),
	}
	if p.team {
		return &criticalv2.ServiceFallback{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.service},
			Spec:       criticalv2.ServiceFallbackSpec{Services: []string{p.service}, ProtectionSpec: spec},
		}
	}
	return &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + p.service},
		Spec: criticalv2.CriticalServiceSpec{
			Namespaces: []string{namespace}, ServiceSelector: metav1.LabelSelector{MatchLabels: labels{"critical": p.service}}, ProtectionSpec: spec,
		},
	}
}
