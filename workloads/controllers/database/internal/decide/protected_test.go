package decide_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/recheck"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/decide"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

func TestHowTheServiceIsProtected(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*decide.Snapshot)
		is     bool
		reason string
		says   string
	}{
		"the core has armed it": {
			func(s *decide.Snapshot) { core(s, criticalv2.StateArmed, criticalv2.ReasonStandbyReady) }, true, criticalv2.ReasonStandbyReady, "It is Armed.",
		},
		"the fallback answers": {
			func(s *decide.Snapshot) { core(s, criticalv2.StateCovered, criticalv2.ReasonFallbackServing) }, true, criticalv2.ReasonFallbackServing, "",
		},
		"the core has a problem": {
			func(s *decide.Snapshot) { core(s, criticalv2.StateArming, criticalv2.ReasonResponderFailing) }, false, criticalv2.ReasonResponderFailing, "",
		},
		"another object governs it": {
			func(s *decide.Snapshot) { core(s, criticalv2.StateIgnored, criticalv2.ReasonOverridden) }, false, criticalv2.ReasonOverridden, "",
		},
		"the core has not looked yet": {
			func(*decide.Snapshot) {}, false, workloadsv1.ReasonFallbackPending, "has not looked",
		},
		"the core follows no ServiceFallbacks": {
			func(s *decide.Snapshot) {
				s.Fallback.Object.Status.Conditions = []metav1.Condition{{
					Type: criticalv2.ConditionReady, Status: metav1.ConditionFalse, Reason: criticalv2.ConditionReasonTurnedOff, Message: "TENANTS is false.",
				}}
			}, false, criticalv2.ConditionReasonTurnedOff, "TENANTS",
		},
		"the core is not installed": {
			func(s *decide.Snapshot) { s.Fallback = fallback.Seen{} }, false, workloadsv1.ReasonFallbackUnavailable, "install critical-service-operator, or set spec.fallback.none",
		},
		"nothing is to answer": {
			func(s *decide.Snapshot) {
				s.Database.Spec.Fallback = &workloadsv1.ServiceProtection{None: &workloadsv1.NoFallback{}}
			}, false, workloadsv1.ReasonFallbackNone, "spec.fallback.none",
		},
		"a ServiceFallback of another": {
			func(s *decide.Snapshot) {
				s.Fallback.Object = &criticalv2.ServiceFallback{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orders"}}
			}, false, workloadsv1.ReasonNameTaken, "left alone",
		},
		"a ServiceFallback of an earlier Database of the name": {
			func(s *decide.Snapshot) { s.Fallback.Object.OwnerReferences[0].UID = "of-an-earlier-one" }, false, workloadsv1.ReasonFallbackPending, "",
		},
		"a ServiceFallback that the API server refuses": {
			func(s *decide.Snapshot) { s.Fallback.Object, s.Fallback.Refused = nil, "exceeded quota" }, false, workloadsv1.ReasonCreateDenied, "exceeded quota",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s := running()
			s.Fallback.Object = s.Fallback.Object.DeepCopy()
			c.change(&s)
			got := protected(t, s)
			g.Expect(got.Status).To(Equal(map[bool]metav1.ConditionStatus{true: metav1.ConditionTrue, false: metav1.ConditionFalse}[c.is]), got.Message)
			g.Expect(got.Reason).To(Equal(c.reason))
			g.Expect(got.Message).To(ContainSubstring(c.says))
			g.Expect(ready(t, s).Reason).To(Equal(workloadsv1.ReasonRunning), "the database runs without")
		})
	}
}

// A ServiceFallback that names a Service comes before those that select it: another user's
// must not get one because a Database has its name.
func TestADatabaseProtectsItsOwnServiceOnly(t *testing.T) {
	g := NewWithT(t)
	s := running(func(s *decide.Snapshot) { s.Service.ObjectMeta = foreign("orders") })
	g.Expect(decide.Decide(s).Fallback.Remove).To(BeIdenticalTo(s.Fallback.Object), "what is there from before goes")
	got := protected(t, s)
	g.Expect(got.Reason).To(Equal(workloadsv1.ReasonNameTaken))
	g.Expect(got.Message).To(ContainSubstring(`Service "orders" does not belong to this Database`))
	s.Fallback.Object = nil
	g.Expect(decide.Decide(s).Fallback).To(Equal(fallback.Change{}))

	s = running(func(s *decide.Snapshot) {
		s.Service.OwnerReferences[0].UID, s.Fallback.Object = "of-an-earlier-one", nil
	})
	g.Expect(decide.Decide(s).Fallback.Apply).NotTo(BeNil(), "the next Service is born protected")
	g.Expect(protected(t, s).Reason).To(Equal(workloadsv1.ReasonFallbackPending))
}

// A ServiceFallback that is written unseen could be another user's.
func TestWhatMayNotBeReadIsNotWritten(t *testing.T) {
	g := NewWithT(t)
	s := running(func(s *decide.Snapshot) { s.Fallback = fallback.Seen{Served: true, Refused: "forbidden"} })
	plan := decide.Decide(s)
	g.Expect(plan.IsEmpty()).To(BeTrue())
	g.Expect(plan.RecheckAfter).To(BeNumerically(">", 0))
	got := protected(t, s)
	g.Expect(got.Reason).To(Equal(workloadsv1.ReasonCreateDenied))
	g.Expect(got.Message).To(ContainSubstring("forbidden"))
}

func TestTheFallbackOfAnEarlierDatabaseGoesBeforeTheServiceIsMade(t *testing.T) {
	g := NewWithT(t)
	s := running(func(s *decide.Snapshot) { s.Fallback.Object.OwnerReferences[0].UID = "of-an-earlier-one" })
	s.Pod, s.Service = nil, nil
	plan := decide.Decide(s)
	g.Expect(plan.Service).To(BeNil())
	g.Expect(plan.RecheckAfter).To(BeNumerically(">", 0))
	got := ready(t, s)
	g.Expect(got.Reason).To(Equal(workloadsv1.ReasonReplacing))
	g.Expect(got.Message).To(ContainSubstring(`ServiceFallback "orders" of an earlier Database`))
	s.Fallback.Object = nil
	plan = decide.Decide(s)
	g.Expect(plan.Fallback.Apply).NotTo(BeNil())
	g.Expect(plan.Service).NotTo(BeNil())
}

func TestWhatNoLongerAnswersIsTakenAway(t *testing.T) {
	g := NewWithT(t)
	s := running(func(s *decide.Snapshot) {
		s.Database.Spec.Fallback = &workloadsv1.ServiceProtection{None: &workloadsv1.NoFallback{}}
	})
	plan := decide.Decide(s)
	g.Expect(plan.Fallback.Remove).To(Equal(s.Fallback.Object))
	s.Database.Spec.Fallback = &workloadsv1.ServiceProtection{Page: &criticalv2.PageFallback{Message: "We move house."}}
	g.Expect(decide.Decide(s).Fallback.Apply.Spec.Fallback.Page.Message).To(Equal("We move house."))
	settled := settle(s)
	settled.Database.Spec.Fallback = nil
	g.Expect(decide.Decide(settled).Fallback.Apply).NotTo(BeNil(), "a message that has to go is a difference")
}

// A failure may pass in a moment. What fails for good is a refusal.
func TestAServiceIsPatientWithAnAPIServerThatFails(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*decide.Snapshot)
		makes  bool
	}{
		"the ServiceFallback cannot be read": {func(*decide.Snapshot) {}, false},
		"that lasts":                         {refusedFor(time.Minute), true},
		"it is refused":                      {func(s *decide.Snapshot) { s.Fallback.Failed = false }, true},
		"one that is there cannot be deleted, and none is to be there": {func(s *decide.Snapshot) {
			s.Database.Spec.Fallback = &workloadsv1.ServiceProtection{None: &workloadsv1.NoFallback{}}
		}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s := running(func(s *decide.Snapshot) {
				s.Service, s.Fallback = nil, fallback.Seen{Served: true, Refused: "It fails.", Failed: true}
			}, c.change)
			plan := decide.Decide(s)
			g.Expect(plan.Service != nil).To(Equal(c.makes))
			if !c.makes {
				g.Expect(plan.RecheckAfter).To(BeNumerically("~", 2*time.Second, time.Second))
				g.Expect(ready(t, s).Reason).To(Equal(workloadsv1.ReasonStarting), "clients do not reach it")
				g.Expect(protected(t, s).Reason).To(Equal(workloadsv1.ReasonCreateDenied))
			}
		})
	}
}

// refusedFor lets the ServiceFallback have been refused for a time.
func refusedFor(age time.Duration) func(*decide.Snapshot) {
	return func(s *decide.Snapshot) {
		s.Ages = new(recheck.Reasons).Observe(types.NamespacedName{}, []metav1.Condition{{
			Type: workloadsv1.ConditionProtected, Reason: workloadsv1.ReasonCreateDenied, LastTransitionTime: metav1.NewTime(now.Add(-age)),
		}}, now)
	}
}
