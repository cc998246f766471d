package stories_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/testenv"
)

// The story of a Service that loses its policy in mid-outage, gets another one, and is made again under its name; each
// time another write of the operator goes wrong.
func TestNothingStaysWhicheverWriteGoesWrong(t *testing.T) {
	whicheverWriteGoesWrong(t, 16, (*world).leave)
}

// leave lives that story under an operator of its own, and describes the end.
func (w *world) leave(fate *testenv.Fate) string {
	w.T.Helper()
	w.beginFated(fate)

	first := w.policy("a", toPage)
	service, real := w.armed(first, "web")
	w.fail(service, real)
	w.Eventually(w.stateOf(first, service)).Should(Equal("Covered/FallbackServing"))
	answered := w.watchThatItIsAnswered(service)

	backup := w.Service("backup")
	w.MakeReady(w.Pod("backup-real", backup))
	w.PublishEndpoints(backup)
	w.turn(first, toBackup("backup"))
	w.Eventually(w.published(service)).Should(Equal("service: backup-real on http=8080, promoted"))
	w.Eventually(w.stateOf(first, service)).Should(Equal("Covered/FallbackServing"))
	answered()

	w.Delete(first)
	w.Eventually(w.published(service)).Should(BeEmpty())

	second := w.policy("b", toBackup("backup"))
	w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
	w.Eventually(w.stateOf(second, service)).Should(Equal("Covered/FallbackServing"))

	w.Delete(service)
	w.UnpublishEndpoints(service)
	w.Eventually(w.published(service)).Should(BeEmpty())
	w.Eventually(w.stateOf(second, service)).Should(Equal("/"))

	service = w.down("web")
	w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
	w.recover(service)
	w.Eventually(w.published(service)).Should(HaveSuffix("standby"))
	w.Eventually(w.stateOf(second, service)).Should(Equal("Armed/StandbyReady"))
	w.Eventually(w.conditionOf(second, "Ready")).Should(Equal("True/Protected"))
	w.atRest(fate)
	end := w.describe(second)

	w.Delete(second)
	w.Eventually(w.published(service)).Should(BeEmpty())
	for _, kind := range []client.Object{&appsv1.Deployment{}, &corev1.ConfigMap{}, &policyv1.PodDisruptionBudget{}, &corev1.PodTemplate{}} {
		w.Eventually(w.names).WithArguments(kind).Should(BeEmpty(), "what was made for the policies goes with them")
	}
	return end
}
