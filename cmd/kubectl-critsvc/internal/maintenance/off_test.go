package maintenance

import (
	"errors"
	"testing"
	"testing/synctest"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage/outagetest"
)

func TestTheEndByHandForgetsNoDebt(t *testing.T) {
	settled := func(reason string) func(*criticalv2.Maintenance) {
		return func(m *criticalv2.Maintenance) {
			m.Status.Owed, m.Finalizers = nil, nil
			m.Status.Conditions = []metav1.Condition{{Type: criticalv2.MaintenanceRestored, Status: metav1.ConditionTrue, Reason: reason}}
			if reason == criticalv2.RestoreDone {
				m.Status.Restored = owedThree
			}
		}
	}
	for sentence, c := range map[string]struct {
		change   func(*criticalv2.Maintenance)
		replicas int32
		want     int32
		stuck    bool
		says     string
	}{
		"what the operator owes":                 {change: func(*criticalv2.Maintenance) {}, want: 3, says: "has its 3 replicas back"},
		"nothing, if nothing was taken":          {change: settled(criticalv2.RestoreNothingTaken), says: "the maintenance is over"},
		"nothing, if it was given back":          {change: settled(criticalv2.RestoreDone), says: "the maintenance is over"},
		"nothing, if the workload has some":      {change: func(*criticalv2.Maintenance) {}, replicas: 1, want: 1, says: "the maintenance is over"},
		"what cannot be given back stays a debt": {change: func(*criticalv2.Maintenance) {}, stuck: true, says: "nothing is deleted"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, outagetest.Existing(c.change))
			w.Scale(c.replicas)
			if c.stuck {
				w.Refuse = func(verb string, _ client.Object) error {
					if verb == "scale" {
						return errors.New("no")
					}
					return nil
				}
			}
			err := w.off()
			w.Expect(w.Replicas()).To(Equal(c.want))
			if c.stuck {
				w.Expect(err).To(MatchError(And(ContainSubstring(c.says), ContainSubstring("kubectl scale -n shop deployments.apps/web --replicas=3"))))
				w.Expect(w.Maintenance()).NotTo(BeNil())
				return
			}
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(w.out.String()).To(ContainSubstring(c.says))
			w.Expect(w.Maintenance()).To(BeNil())
		})
	}
}

// Users who may not scale a workload may have written what the Maintenance says.
func TestWhatTheOperatorHasNotSeenIsGivenBackIfTheUserSaysSo(t *testing.T) {
	unseen := func(m *criticalv2.Maintenance) { m.Status.Owed, m.Finalizers = nil, nil }
	w := newWorld(t, outagetest.Existing(unseen))
	w.Scale(0)
	w.Expect(w.off()).To(MatchError(And(ContainSubstring("had 3 replicas, which the operator has not seen"), ContainSubstring("add --yes"))))
	w.Expect(w.Replicas()).To(BeZero())
	w.Expect(w.Maintenance()).NotTo(BeNil())
	w.Expect(w.end(true)).To(Succeed())
	w.Expect(w.Replicas()).To(BeEquivalentTo(3))
	w.Expect(w.Maintenance()).To(BeNil())
}

func TestTheEndByHandNeedsNoOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, outagetest.Existing())
		w.Scale(0)
		w.Operator = ""
		w.Expect(w.off()).To(Succeed())
		w.Expect(w.Replicas()).To(BeEquivalentTo(3))
		w.Expect(w.Maintenance()).To(BeNil(), "its finalizer is of no use any more")
	})
}

func TestTheEndByHandLeavesWhatIsAboutOthers(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*criticalv2.Maintenance)
		says   string
	}{
		"another Service":  {func(m *criticalv2.Maintenance) { m.Spec.Services = []string{"cart"} }, ""},
		"several Services": {func(m *criticalv2.Maintenance) { m.Spec.Services = []string{"cart", "web"} }, "is about several Services, and stays: `kubectl delete maintenance web -n shop` ends it, for cart, web"},
		"one that recurs":  {func(m *criticalv2.Maintenance) { m.Spec.Recurring = &criticalv2.Recurring{Schedule: "0 2 * * SUN"} }, `Maintenance "web" recurs, and stays`},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, outagetest.Existing(c.change))
			w.Scale(0)
			if err := w.off(); c.says == "" {
				w.Expect(err).NotTo(HaveOccurred())
				w.Expect(w.out.String()).To(ContainSubstring("no maintenance is announced"))
			} else {
				w.Expect(err).To(MatchError(ContainSubstring(c.says)))
			}
			w.Expect(w.Maintenance()).NotTo(BeNil())
			w.Expect(w.Replicas()).To(BeZero())
		})
	}
}

func TestTheEndByHandGoesOnBesideWhatRecurs(t *testing.T) {
	w := newWorld(t, outagetest.Existing(), outagetest.Existing(unscaled, func(m *criticalv2.Maintenance) {
		m.Name, m.UID, m.Spec.Recurring = "night", "night", &criticalv2.Recurring{Schedule: "0 2 * * SUN"}
	}))
	w.Scale(0)
	w.Expect(w.off()).To(Succeed())
	w.Expect(w.Replicas()).To(BeEquivalentTo(3))
	w.Expect(w.Maintenance()).To(BeNil())
	w.Expect(w.errOut.String()).To(BeEmpty(), "its window has not begun")
	w.Expect(w.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "night"}, &criticalv2.Maintenance{})).To(Succeed())
}

func TestWhatHasEndedIsLeftToItsTime(t *testing.T) {
	w := newWorld(t, outagetest.Existing(unscaled, func(m *criticalv2.Maintenance) { m.Status.Ended = new(metav1.Now()) }))
	w.Expect(w.off()).To(Succeed())
	w.Expect(w.out.String()).To(Equal("service/web: no maintenance is announced.\n"))
	w.Expect(w.Maintenance()).NotTo(BeNil(), "Git may have made it")
}
