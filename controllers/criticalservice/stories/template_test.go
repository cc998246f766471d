package stories_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/critical-service/operator/test/testenv"
)

func TestAMissingTemplateIsReportedOnceAndMissedNoLonger(t *testing.T) {
	w := apart(t)
	options := standard
	options.Template.Name = w.Unique("template")
	w.start(w.confined(options))
	policy := w.policy("shop")
	running, _ := w.up("running")
	w.Eventually(w.stateOf(policy, running)).Should(Equal("Arming/TemplateNotFound"))
	down := w.down("down")
	w.Eventually(w.stateOf(policy, down)).Should(Equal("Exposed/TemplateNotFound"))
	w.Eventually(w.conditionOf(policy, "FallbackReady")).Should(Equal("False/TemplateNotFound"))
	w.Expect(w.detailOf(policy, down).Message).To(And(
		ContainSubstring(options.Template.Name), ContainSubstring(options.Template.Namespace),
		ContainSubstring("create it"), ContainSubstring("POD_TEMPLATE_NS")))
	for range 3 {
		w.look(down, func() {})
	}
	w.Eventually(w.EventsOf(policy, "TemplateNotFound")).Should(HaveLen(1), "one event reports it for all the Services")
	w.Expect(w.Events(running, "TemplateNotFound")).To(BeEmpty())
	w.Eventually(w.EventsOf(down, "TemplateNotFound")).Should(HaveLen(1),
		"an outage that nothing answers is reported on its Service")

	template := newTemplate(options.Template)
	w.Create(template)
	w.answer(down, w.fallback(down))
	w.Eventually(w.stateOf(policy, down)).Should(Equal("Covered/FallbackServing"))
	w.Eventually(w.stateOf(policy, running)).Should(Equal("Armed/EndpointsReady"))
	w.Eventually(w.conditionOf(policy, "FallbackReady")).Should(Equal("True/FallbackPrepared"))

	// A fallback that answers needs no template.
	fallback := w.fallback(down)
	w.look(down, func() { w.Delete(template) })
	w.Eventually(w.stateOf(policy, down)).Should(Equal("Covered/TemplateNotFound"))
	w.Expect(w.fallback(down).UID).To(Equal(fallback.UID))
	w.Eventually(w.stateOf(policy, running)).Should(Equal("Arming/TemplateNotFound"))
}

func TestAFixedTemplateReplacesAFallbackThatFailsAndNoOther(t *testing.T) {
	w := apart(t)
	options := standard
	options.Template.Name = w.Unique("template")
	template := newTemplate(options.Template)
	w.Create(template)
	w.start(w.confined(options))
	policy := w.policy("shop")
	good, answering := w.covered("good")
	bad := w.down("bad")
	failing := w.fallback(bad)
	w.PodStatus(failing, func(s *corev1.PodStatus) {
		s.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"},
		}}}
	})
	w.Eventually(w.stateOf(policy, bad)).Should(Equal("Exposed/FallbackFailing"))
	w.settle()
	w.Expect(w.fallback(bad).UID).To(Equal(failing.UID), "the same template makes the same Pod")

	testenv.Update(w.World, template, func(o *corev1.PodTemplate) { o.Template.Spec.Containers[0].Image = "example.com/web:2" })
	w.Eventually(func() string {
		pods := w.fallbacks(bad)
		if len(pods) != 1 {
			return ""
		}
		return pods[0].Spec.Containers[0].Image
	}).Should(Equal("example.com/web:2"))
	w.settle()
	w.Expect(w.fallback(good).UID).To(Equal(answering.UID))
}

// All that a template says of the Pod is kept.
func TestATemplateIsKeptAsItIs(t *testing.T) {
	w := apart(t)
	options := standard
	options.Template.Name = w.Unique("template")
	template := newTemplate(options.Template)
	w.Create(template)
	testenv.Update(w.World, template, func(o *corev1.PodTemplate) {
		spec := &o.Template.Spec
		spec.InitContainers = []corev1.Container{{Name: "fetch", Image: "example.com/fetch:1"}}
		spec.Containers = append(spec.Containers, corev1.Container{Name: "log", Image: "example.com/log:1"})
		spec.Volumes = []corev1.Volume{{Name: "pages", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "pages", MountPath: "/pages"}}
	})
	w.start(w.confined(options))
	w.policy("shop")
	pod := w.fallback(w.down("web"))

	want := template.Template.Spec.DeepCopy()
	w.Expect(pod.Spec.InitContainers).To(Equal(want.InitContainers))
	w.Expect(pod.Spec.Containers).To(Equal(want.Containers))
	w.Expect(pod.Spec.Volumes).To(Equal(want.Volumes))
	w.Expect(pod.Spec.AutomountServiceAccountToken).To(HaveValue(BeFalse()), "a fallback has no business with the API server")
}
