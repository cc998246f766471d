package responder_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// Of the autoscaler only its writes are real here; test/autoscale has one that scales.
func TestAResponderThatScalesHasAnAutoscaler(t *testing.T) {
	w := newWorld(t)
	scaling := standard
	scaling.MaxReplicas = 6
	w.start(scaling)
	_, asking := w.critical("web", criticalv2.PageFallback{})
	w.Eventually(w.there).Should(ConsistOf("Deployment", "ConfigMap", "PodDisruptionBudget", "HorizontalPodAutoscaler"))
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{}
	w.Expect(w.Exists(w.named(autoscaler))).To(BeTrue())
	w.Expect(autoscaler.Spec.MinReplicas).To(HaveValue(BeEquivalentTo(2)))
	w.Expect(autoscaler.Spec.MaxReplicas).To(BeEquivalentTo(6))

	testenv.Update(w.World, w.deployment(), func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(5)) })
	w.look()
	w.Expect(w.deployment().Spec.Replicas).To(HaveValue(BeEquivalentTo(5)), "what it wants is kept")

	testenv.Update(w.World, autoscaler, func(a *autoscalingv2.HorizontalPodAutoscaler) { a.Spec.MaxReplicas = 50 })
	w.Eventually(func() int32 { w.Exists(autoscaler); return autoscaler.Spec.MaxReplicas }).Should(BeEquivalentTo(6), "what a user changed is put back")

	w.stop()
	w.start(standard)
	w.Eventually(w.there).Should(beComplete(), "without the setting it goes")
	w.Eventually(func() *int32 { return w.deployment().Spec.Replicas }).Should(HaveValue(BeEquivalentTo(2)))

	w.stop()
	w.start(scaling)
	w.Eventually(w.there).Should(ContainElement("HorizontalPodAutoscaler"))
	w.Delete(asking)
	w.Eventually(w.there).Should(BeEmpty(), "it goes with the responder")
}
