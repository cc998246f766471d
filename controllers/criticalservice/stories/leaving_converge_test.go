package stories_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/testenv"
)

// The story of a Service that loses its policy in mid-outage, gets another one, and is made again under its name; each
// time another write of the operator goes wrong.
func TestNothingStaysWhicheverWriteGoesWrong(t *testing.T) {
	whicheverWriteGoesWrong(t, 12, (*world).leave)
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
	return end
}
