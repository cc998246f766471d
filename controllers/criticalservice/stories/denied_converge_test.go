package stories_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/test/testenv"
)

// The story of a headless Service whose fallback Pod finds its name taken, is denied by a quota, then made, and deleted by a
// user, is lived again and again; each time another write of the operator goes wrong.
func TestADeniedFallbackComesWhicheverWriteGoesWrong(t *testing.T) {
	whicheverWriteGoesWrong(t, 9, (*world).denied)
}

// denied lives that story under an operator of its own, and describes the end.
func (w *world) denied(fate *testenv.Fate) string {
	w.T.Helper()
	w.record(fate)
	w.startWith(func() testenv.Program { return w.confined(standard) }, fate)

	policy, quota := w.policy("a"), refusals["a quota"]
	foreign := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "service-watcher-web"}, Spec: testenv.PodSpec()}
	w.Create(foreign)
	service := w.down("web", func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone })
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Exposed/NameTaken"))
	quota.begin(w)
	w.Delete(foreign)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Exposed/CreateDenied"))
	quota.allow(w)
	first := w.fallback(service)
	w.answer(service, first)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))

	w.Delete(first)
	w.Eventually(func() types.UID { return w.fallback(service).UID }).ShouldNot(Equal(first.UID))
	w.answer(service, w.fallback(service))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))

	w.recover(service)
	w.gone(service)
	w.PublishEndpoints(service)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))
	w.Eventually(w.conditionOf(policy, "Ready")).Should(Equal("True/Protected"))
	w.atRest(fate)
	return w.describe(policy)
}
