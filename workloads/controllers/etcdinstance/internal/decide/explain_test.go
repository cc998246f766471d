package decide_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/decide"
)

// Each roll of the Pods ends with another leader.
func TestAnElectionIsNoLossOfTheQuorum(t *testing.T) {
	for sentence, c := range map[string]struct {
		looks  int
		reason string
	}{
		"the leader has just gone":                   {1, workloadsv1alpha1.ReasonQuorumPending},
		"there is still no leader after ten seconds": {3, workloadsv1alpha1.ReasonQuorumLost},
		"there is none after that":                   {4, workloadsv1alpha1.ReasonQuorumLost},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			w := settled(t, true, 3)
			w.cut["etcd-0"], w.cut["etcd-1"] = true, true
			var plan decide.Plan
			for range c.looks {
				plan = w.works()
			}
			for _, kind := range []string{workloadsv1alpha1.ConditionQuorum, workloadsv1.ConditionReady} {
				g.Expect(meta.FindStatusCondition(plan.Status.Conditions, kind)).To(HaveField("Reason", c.reason), kind)
			}
			g.Expect(plan.Status.State).To(Equal(workloadsv1alpha1.ETCDDeploying))
			g.Expect(plan.RecheckAfter).NotTo(BeZero())

			clear(w.cut)
			g.Expect(w.works().Status.State).To(Equal(workloadsv1alpha1.ETCDRunning))
		})
	}
}

func TestAMemberThatWasTakenAwayIsNotMissed(t *testing.T) {
	g := NewWithT(t)
	w := settled(t, true, 3)
	w.setReplicas(1)
	for range 60 {
		plan := w.works()
		g.Expect(plan.Status.State).NotTo(Equal(workloadsv1alpha1.ETCDFailed), plan.Status.Message)
	}
	g.Expect(w.members).To(HaveLen(1))
}
