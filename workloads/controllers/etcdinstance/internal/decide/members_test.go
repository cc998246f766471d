package decide_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
)

// works lets all work once, and says what was decided.
func (w *world) works() decide.Plan {
	w.kubernetes()
	w.etcdRuns()
	plan := decide.Decide(w.look())
	w.carryOut(&plan, allWrites)
	return plan
}

// A volume that is full lets no learner start, and each one that is added leaves another folder in it.
func TestALearnerThatNeverComesUpIsReplacedMoreAndMoreSeldom(t *testing.T) {
	g := NewWithT(t)
	w := settled(t, true, 1)
	w.setReplicas(2)
	const name = "etcd-1"
	// restartsBefore are those after which a learner was removed.
	var restartsBefore []int
	restarts, failedFor, pod := 0, 0, types.UID("")
	for range 200 {
		if m := w.member(name); m != nil {
			m.received = true // It ends with each start.
		}
		plan := w.works()
		if found := w.snap.Pods[name]; found != nil && found.UID != pod {
			pod, restarts = found.UID, 0
		} else if found != nil && len(found.Status.ContainerStatuses) > 0 {
			restarts = int(found.Status.ContainerStatuses[0].RestartCount)
		}
		if plan.Change != nil && plan.Change.Kind == decide.Remove {
			restartsBefore = append(restartsBefore, restarts)
		}
		if strings.HasPrefix(plan.Status.Message, "Member etcd-1 has been added") {
			failedFor++
			g.Expect(plan.Status.State).To(Equal(workloadsv1alpha1.ETCDFailed))
			g.Expect(plan.Status.Message).To(And(ContainSubstring("never came up"), ContainSubstring(`in claim "data-etcd-1", every folder but "`+w.member(name).id+`"`), ContainSubstring("may be deleted")))
		}
	}
	g.Expect(len(restartsBefore)).To(BeNumerically(">", 3))
	g.Expect(restartsBefore[0]).To(BeNumerically("<=", 4))
	g.Expect(len(restartsBefore)).To(BeNumerically("<", 9), "%v", restartsBefore)
	g.Expect(restartsBefore[len(restartsBefore)-1]).To(BeNumerically(">=", 24), "%v", restartsBefore)
	g.Expect(failedFor).To(BeNumerically(">", 60))

	for range 60 {
		if m := w.member(name); m != nil {
			m.received = false // There is space again.
		}
		w.works()
	}
	g.Expect(w.snap.Instance.Status.State).To(Equal(workloadsv1alpha1.ETCDRunning), w.snap.Instance.Status.Message)
	for _, entry := range render.Entries(w.snap.Instance, w.snap.Config) {
		g.Expect(entry).To(And(HaveField("Hollow", 0), HaveField("Gone", false)), "the next time counts from the beginning")
	}
}
