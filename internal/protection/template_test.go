package protection_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/critical-service/operator/internal/protection"
)

func TestWhatATeamMayRun(t *testing.T) {
	restricted := func(changes ...func(*corev1.PodSpec)) *corev1.PodTemplateSpec {
		template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{Name: "web", SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}}},
		}}
		for _, change := range changes {
			change(&template.Spec)
		}
		return template
	}
	projected := func(source corev1.VolumeProjection) func(*corev1.PodSpec) {
		return func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{source}}}}}
		}
	}
	for sentence, test := range map[string]struct {
		template *corev1.PodTemplateSpec
		// want is part of what forbids it; empty if it may run.
		want string
	}{
		"a Pod that meets the level restricted":     {restricted(), ""},
		"one that says that it has no token":        {restricted(func(s *corev1.PodSpec) { s.AutomountServiceAccountToken = new(false) }), ""},
		"one that names the default ServiceAccount": {restricted(func(s *corev1.PodSpec) { s.ServiceAccountName = "default" }), ""},
		"one with a projected ConfigMap":            {restricted(projected(corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{}})), ""},
		"one with projected certificates of others": {restricted(projected(corev1.VolumeProjection{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{}})), ""},
		"not one that runs as root":                 {restricted(func(s *corev1.PodSpec) { s.SecurityContext.RunAsNonRoot = nil }), "runAsNonRoot"},
		"not one in the network of its node":        {restricted(func(s *corev1.PodSpec) { s.HostNetwork = true }), "hostNetwork"},
		"not one with a folder of its node": {restricted(func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
		}), "hostPath"},
		"not one with a privileged init container": {restricted(func(s *corev1.PodSpec) {
			s.InitContainers = []corev1.Container{{Name: "init", SecurityContext: &corev1.SecurityContext{Privileged: new(true)}}}
		}), "privileged"},
		"not one that runs as another ServiceAccount":    {restricted(func(s *corev1.PodSpec) { s.ServiceAccountName = "deployer" }), `"deployer"`},
		"not one that mounts a token":                    {restricted(func(s *corev1.PodSpec) { s.AutomountServiceAccountToken = new(true) }), "token"},
		"not one that projects a token":                  {restricted(projected(corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}})), "token"},
		"not one that projects a certificate of its own": {restricted(projected(corev1.VolumeProjection{PodCertificate: &corev1.PodCertificateProjection{}})), "certificate of the Pod"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			if test.want == "" {
				g.Expect(protection.ForTeam(test.template)).To(BeEmpty())
			} else {
				g.Expect(protection.ForTeam(test.template)).To(ContainSubstring(test.want))
			}
		})
	}
}
