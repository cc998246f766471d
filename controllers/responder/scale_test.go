package responder_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// The autoscaler scales while the operator writes what it has read before.
func TestAWriteOfTheDeploymentUndoesNoScaling(t *testing.T) {
	w := newWorld(t)
	scaling := standard
	scaling.MaxReplicas = 6
	var scales atomic.Bool
	scaled := make(chan error, 1)
	w.start(scaling, func(r testenv.Request) testenv.Verdict {
		if r.Method == http.MethodPatch && r.Resource() == "deployments" && scales.CompareAndSwap(true, false) {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":5}}`))
			scaled <- w.Cluster.Client.Patch(t.Context(), w.named(&appsv1.Deployment{}), patch)
		}
		return testenv.Pass
	})
	w.critical("web", criticalv2.PageFallback{})
	w.Eventually(w.there).Should(ContainElement("HorizontalPodAutoscaler"))
	w.look()

	image := w.deployment().Spec.Template.Spec.Containers[0].Image
	scales.Store(true)
	testenv.Update(w.World, w.deployment(), func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "another" })
	w.Eventually(func() string { return w.deployment().Spec.Template.Spec.Containers[0].Image }).Should(Equal(image), "what a user changed is put back")
	w.Eventually(scaled).Should(Receive(BeNil()), "the autoscaler has scaled")
	w.Expect(w.deployment().Spec.Replicas).To(HaveValue(BeEquivalentTo(5)))
}
