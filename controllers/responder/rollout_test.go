package responder_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder"
)

// comesUp does what Kubernetes does once all Pods of the responder are new and available.
func (w *world) comesUp() {
	w.T.Helper()
	generation := w.deployment().Generation
	w.deploymentStatus(func(status *appsv1.DeploymentStatus) {
		*status = appsv1.DeploymentStatus{
			ObservedGeneration: generation, Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2,
		}
	})
}

// doesNotComeUp does what Kubernetes does once the deadline of a rollout has passed.
func (w *world) doesNotComeUp() {
	w.T.Helper()
	generation := w.deployment().Generation
	w.deploymentStatus(func(status *appsv1.DeploymentStatus) {
		status.ObservedGeneration, status.Replicas, status.UpdatedReplicas = generation, 4, 2
		status.Conditions = []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded",
		}}
	})
}

// follows reports whether the responder has the operator's new version.
func (w *world) follows() bool {
	return strings.HasSuffix(w.deployment().Spec.Template.Spec.Containers[0].Image, ":next")
}

func following(worlds []*world) []*world {
	return slices.DeleteFunc(slices.Clone(worlds), func(w *world) bool { return !w.follows() })
}

func others(worlds []*world, but ...*world) []*world {
	return slices.DeleteFunc(slices.Clone(worlds), func(w *world) bool { return slices.Contains(but, w) })
}

// upgraded is an operator with another image, and namespaces that had the last one.
func upgraded(t *testing.T, namespaces int) (*world, []*world) {
	t.Helper()
	w := newWorld(t)
	all := []*world{w}
	for range namespaces - 1 {
		all = append(all, w.beside())
	}
	w.start(standard)
	for _, one := range all {
		one.critical("web", criticalv2.PageFallback{})
		one.comesUp()
	}
	w.settleAll(all)
	w.stop()
	w.start(responder.Options{Image: "quay.io/critical-service/operator:next"})
	return w, all
}

// settleAll waits until the operator has nothing left to do in any of its namespaces.
func (w *world) settleAll(all []*world) {
	w.T.Helper()
	for _, one := range all {
		w.current().Settled(one.World)
	}
}

func TestANewVersionWaitsForTheNamespaceBefore(t *testing.T) {
	w, all := upgraded(t, 2)
	w.Eventually(func() []*world { return following(all) }).Should(HaveLen(1))
	w.settleAll(all)
	w.Expect(following(all)).To(HaveLen(1), "the other waits")
	first := following(all)[0]
	second := others(all, first)[0]
	w.Eventually(func() []string {
		return w.events(metav1.NamespaceDefault, second.Unique("shop"), "ResponderRolloutWaits")
	}).Should(ContainElement(ContainSubstring(first.Namespace)))

	second.critical("api", criticalv2.PageFallback{Replicas: new(int32(3))})
	w.Eventually(func() *int32 { return second.deployment().Spec.Replicas }).Should(HaveValue(BeEquivalentTo(3)))
	w.Expect(second.follows()).To(BeFalse(), "what it asks for does not take the new version along")

	first.comesUp()
	w.Eventually(second.follows).Should(BeTrue())
}

func TestANewVersionThatDoesNotComeUpIsHeldBack(t *testing.T) {
	w, all := upgraded(t, 3)
	w.Eventually(func() []*world { return following(all) }).Should(HaveLen(1))
	first := following(all)[0]
	first.doesNotComeUp()
	w.Eventually(func() []*world { return following(all) }).Should(HaveLen(2), "the first may have a problem of its own")
	second := following(others(all, first))[0]
	second.doesNotComeUp()
	last := others(all, first, second)[0]
	w.Eventually(func() []string {
		return w.events(metav1.NamespaceDefault, last.Unique("shop"), "ResponderRolloutStopped")
	}).Should(ContainElement(And(HavePrefix("Warning: "), ContainSubstring(first.Namespace), ContainSubstring(second.Namespace))))
	w.settleAll(all)
	w.Expect(last.follows()).To(BeFalse())

	second.comesUp()
	w.Eventually(last.follows).Should(BeTrue(), "the version is proved")
}

// While Pods are denied, the Deployment is changed so that their ReplicaSet tries again.
func TestADenialThatEndsIsNoticedSoon(t *testing.T) {
	w := newWorld(t)
	w.start(standard)
	w.critical("web", criticalv2.PageFallback{})
	w.Eventually(w.there).Should(beComplete())
	w.current().Settled(w.World)
	before := w.deployment()
	denied := func(is corev1.ConditionStatus) {
		w.deploymentStatus(func(status *appsv1.DeploymentStatus) {
			status.Conditions = []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentReplicaFailure, Status: is, Reason: "FailedCreate", LastTransitionTime: metav1.Now(),
			}}
		})
	}
	nudged := func() string { return w.deployment().Annotations["mycrd.com/nudged-at"] }
	w.Expect(nudged()).To(BeEmpty())
	denied(corev1.ConditionTrue)
	w.Eventually(nudged).ShouldNot(BeEmpty())
	first := nudged()
	w.Eventually(nudged).ShouldNot(Equal(first), "again and again")
	w.Expect(w.deployment().Spec).To(Equal(before.Spec), "no Pod is replaced for it")

	denied(corev1.ConditionFalse)
	w.current().Settled(w.World)
	last := nudged()
	w.look()
	w.Expect(nudged()).To(Equal(last))
}
