package stories_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// The story of a Service that a team protects, through a maintenance, an administrator's policy and a drill, is lived again and
// again; each time another write of the operator goes wrong.
func TestATeamIsServedWhicheverWriteGoesWrong(t *testing.T) {
	whicheverWriteGoesWrong(t, 20, (*world).serveTeam)
}

// serveTeam lives that story under an operator of its own, and describes the end.
func (w *world) serveTeam(fate *testenv.Fate) string {
	w.T.Helper()
	w.beginFated(fate)

	team := w.team("web", naming("web"))
	service, real := w.up("web")
	w.responder("responder-1")
	w.Eventually(w.stateOf(team, service)).Should(Equal("Armed/StandbyReady"))

	planned := w.announce(service)
	w.Eventually(w.stateOf(team, service)).Should(Equal("Armed/Maintenance"))
	w.fail(service, real)
	w.Eventually(w.stateOf(team, service)).Should(Equal("Covered/Maintenance"))
	answered := w.watchThatItIsAnswered(service)

	enforced := w.policy("z", toPage, func(p *criticalv2.CriticalService) { p.Spec.Precedence = criticalv2.PrecedenceEnforced })
	w.Eventually(w.stateOf(enforced, service)).Should(Equal("Covered/Maintenance"))
	w.Eventually(w.stateOf(team, service)).Should(Equal("Ignored/Overridden"))
	w.Delete(planned)
	w.Eventually(w.stateOf(enforced, service)).Should(Equal("Covered/FallbackServing"))
	w.Delete(enforced)
	w.Eventually(w.stateOf(team, service)).Should(Equal("Covered/FallbackServing"))

	real = w.recover(service)
	w.Eventually(w.stateOf(team, service)).Should(Equal("Armed/StandbyReady"))
	answered()

	drill := w.announce(service, func(m *criticalv2.Maintenance) { m.Name, m.Spec.Purpose = "drill", criticalv2.PurposeDrill })
	w.Eventually(func() []metav1.Condition { w.Exists(drill); return drill.Status.Conditions }).Should(
		ContainElement(HaveField("Reason", criticalv2.MaintenanceDrill)))
	w.fail(service, real)
	w.Eventually(w.stateOf(team, service)).Should(Equal("Covered/FallbackServing"))
	w.recover(service)
	w.Eventually(w.published(service)).Should(HaveSuffix("standby"))
	w.Delete(drill)
	w.Eventually(w.stateOf(team, service)).Should(Equal("Armed/StandbyReady"))
	w.Eventually(w.conditionOf(team, "Ready")).Should(Equal("True/Protected"))
	w.atRest(fate)
	return w.describe(team)
}
