package main

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/critical-service/operator/workloads/internal/operator"
)

func TestTheOperatorIsMeasuredWithTheEnvironmentOfItsInstallation(t *testing.T) {
	g := NewWithT(t)
	variables, err := shipped()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(variables).To(ContainElements(HavePrefix("GOGC="), MatchRegexp(`^GOMEMLIMIT=[1-9]\d{8}$`)))
}

func TestTheEnvironmentIsThatOfKubelet(t *testing.T) {
	ofField := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	for name, test := range map[string]struct {
		variable corev1.EnvVar
		want     string
		problem  string
	}{
		"a value":          {variable: corev1.EnvVar{Name: "GOGC", Value: "70"}, want: "GOGC=70"},
		"the namespace":    {variable: corev1.EnvVar{Name: "POD_NAMESPACE", ValueFrom: ofField("metadata.namespace")}, want: "POD_NAMESPACE=" + operator.Namespace},
		"the memory limit": {variable: corev1.EnvVar{Name: "GOMEMLIMIT", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory"}}}, want: "GOMEMLIMIT=1048576"},
		"another field":    {variable: corev1.EnvVar{Name: "NODE", ValueFrom: ofField("spec.nodeName")}, problem: "the value of NODE"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			container := &corev1.Container{Env: []corev1.EnvVar{test.variable}}
			container.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")}
			variables, err := environment(container)
			if test.problem != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.problem)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(variables).To(HaveExactElements(test.want))
		})
	}
}
