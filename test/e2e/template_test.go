//go:build e2e

package e2e

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// A PodTemplate that an administrator makes for other purposes may be named by a team as well. Pod Security does
// not restrict the namespaces of these scenarios: it is the operator that refuses.

// givenTemplate is a fallback by the PodTemplate of the scenario, as a ServiceFallback names it.
func (w *world) givenTemplate(edit func(*corev1.PodSpec)) criticalv2.Fallback {
	w.t.Helper()
	fallback := w.podTemplate(9090, criticalv2.ActivationStandby)
	change(w, &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fallback.PodTemplate.Name}}, func(p *corev1.PodTemplate) {
		edit(&p.Template.Spec)
	})
	fallback.PodTemplate.Namespace = ""
	return fallback
}

func TestATeamGetsNoPodsThatItMayNotMake(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		edit func(*corev1.PodSpec)
		says string
	}{
		"privileged": {
			edit: func(p *corev1.PodSpec) {
				p.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
			},
			says: "privileged",
		},
		"with a folder of the node": {
			edit: func(p *corev1.PodSpec) {
				p.Volumes = []corev1.Volume{{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
			},
			says: "hostPath",
		},
		"of another account": {
			edit: func(p *corev1.PodSpec) { p.ServiceAccountName = "deployer" },
			says: `ServiceAccount "deployer"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			team := w.asTeam()
			w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "deployer"}})
			fallback := w.givenTemplate(test.edit)
			application := team.deployment("shop")
			shop := team.service("shop").withTeamsFallback(team.Client, fallback)
			shop.becomes(criticalv2.StateArmed, criticalv2.ReasonTemplateForbidden, test.says, "The built-in page stands in for it.")
			shop.condition(criticalv2.ConditionFallbackReady, metav1.ConditionFalse, criticalv2.ReasonTemplateForbidden)

			team.scale(application, 0)
			shop.becomes(criticalv2.StateCovered, criticalv2.ReasonTemplateForbidden, test.says)
			shop.answeredBy(theBuiltInPage)
			shop.staysWithoutFallback()
		})
	}
}

func TestATeamsPodHasNoAccountOfItsOwnAndNoToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	team := w.asTeam()
	// The template says nothing of a token: Kubernetes would mount one.
	fallback := w.givenTemplate(func(p *corev1.PodSpec) { p.AutomountServiceAccountToken = nil })
	application := team.deployment("shop")
	shop := team.service("shop").withTeamsFallback(team.Client, fallback).ready()
	team.scale(application, 0)
	shop.standsIn(standInName)

	pods := shop.fallbacks(shop)
	w.Expect(pods).To(HaveLen(1))
	w.Expect(metav1.GetControllerOf(&pods[0])).To(And(HaveField("Kind", criticalv2.ServiceFallbackKind.Kind), HaveField("Name", shop.policy.GetName())))
	spec := &pods[0].Spec
	w.Expect(spec.ServiceAccountName).To(Equal("default"))
	w.Expect(spec.AutomountServiceAccountToken).To(HaveValue(BeFalse()))
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		w.Expect(container.VolumeMounts).To(BeEmpty(), "Kubernetes mounts a token as a volume of container %s", container.Name)
	}
	w.Expect(spec.Volumes).To(BeEmpty())
}
