package maintenance_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/write"
	"github.com/critical-service/operator/test/testenv"
)

// The same story is lived again and again; each time another write of the operator goes wrong, or is its last. Every scene
// must be reached and the end must be the same.
func TestTheEndIsTheSameWhicheverWriteGoesWrong(t *testing.T) {
	t.Parallel()
	testenv.WhicheverWriteGoesWrong(t, 18, lived)
}

// The same story is lived by operators that see the cluster as it was, in another order, or with gaps.
func TestTheEndIsTheSameHoweverItIsSeen(t *testing.T) {
	t.Parallel()
	testenv.HoweverItIsSeen(t, lived)
}

var lived = testenv.SideBySide(func(t *testing.T, fate *testenv.Fate) string { return newWorldAlone(t).live(fate) })

// live lives one story, of a maintenance that ends, one that is deleted before its end, one that is kept for no time, one that
// recurs, and a drill after which a user scales, under an operator of its own, and describes the end.
func (w *world) live(fate *testenv.Fate) string {
	w.T.Helper()
	w.permit()
	fate.Record(w.World, testenv.Laws{Manager: write.FieldManager, Writes: map[string][]string{
		"Maintenance": {"status", "metadata.finalizers", testenv.Deletion},
		"Deployment":  {"scale"},
	}}, &criticalv2.MaintenanceList{}, &appsv1.DeploymentList{})
	w.startWith(fate.Befall)
	fate.Succeed(w.T, func() { w.stop(); w.startWith(fate.Follow) })

	ended := w.takenAway()
	w.ends(ended)
	w.Eventually(w.replicas).Should(Equal(int32(3)))
	w.comeBack()
	w.Eventually(w.restored(ended)).Should(Equal(criticalv2.RestoreDone))
	w.Eventually(w.active(ended)).Should(Equal(criticalv2.MaintenanceEnded))
	w.Delete(ended)
	w.Eventually(w.Exists).WithArguments(ended).Should(BeFalse())

	deleted := w.takenAway()
	w.Delete(deleted)
	w.Eventually(w.Exists).WithArguments(deleted).Should(BeFalse())
	w.Expect(w.replicas()).To(Equal(int32(3)))

	brief := w.announce(named("brief"), until(over()), func(m *criticalv2.Maintenance) { m.Spec.TTLSecondsAfterFinished = new(int32(0)) })
	w.Eventually(w.Exists).WithArguments(brief).Should(BeFalse())
	w.Expect(w.replicas()).To(Equal(int32(3)))
	recurs := w.announce(named("recurs"), recurring(daily(0), ""))
	w.Eventually(w.active(recurs)).Should(Equal(criticalv2.MaintenanceAnnounced))
	testenv.Update(w.World, recurs, recurring(daily(3*time.Hour), ""))
	w.Eventually(w.active(recurs)).Should(Equal(criticalv2.MaintenanceScheduled))
	w.Delete(recurs)
	w.Eventually(w.Exists).WithArguments(recurs).Should(BeFalse())
	drill := w.takenAway(func(m *criticalv2.Maintenance) { m.Spec.Purpose = criticalv2.PurposeDrill })
	w.ends(drill)
	w.Eventually(w.restored(drill)).Should(Equal(criticalv2.RestoreDone))
	w.Eventually(func() []string { w.Exists(drill); return drill.Finalizers }).Should(BeEmpty(), "nothing is owed any more")
	w.Expect(w.replicas()).To(Equal(int32(3)))
	fate.Calm()
	fate.AwaitSuccessor()

	w.scale(1) // A user wants it so.
	testenv.Update(w.World, drill, func(m *criticalv2.Maintenance) { m.Spec.Message = "Almost." })
	w.Eventually(func() bool { w.Exists(drill); return drill.Status.ObservedGeneration == drill.Generation }).Should(BeTrue())
	w.Expect(w.replicas()).To(Equal(int32(1)), "what was restored once is the user's")
	end := w.Describe(&criticalv2.MaintenanceList{}, &appsv1.DeploymentList{})
	if fate.IsHappy() {
		return end
	}
	// An operator that dies of the write, or does not get its answer, finds it done.
	return strings.Replace(end, "had 3 replicas at the end already", "has its 3 replicas back", 1)
}
