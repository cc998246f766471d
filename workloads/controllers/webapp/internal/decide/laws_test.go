package decide_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/render"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/scale"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// worlds is how many random Snapshots each law is held against.
const worlds = 500

func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func randomSpec(r *rand.Rand) *workloadsv1.WebApp {
	return webApp(func(a *workloadsv1.WebApp) {
		s := &a.Spec
		s.Image = one(r, "web:1", "web:2")
		s.DBImage = one(r, "", "mysql:8.0", "mysql:8.4", "mongo:4.0", "oracle:1")
		s.DBSize = one(r, "", "1Gi", "2Gi")
		s.Replicas = one(r, nil, new(int32(0)), new(int32(1)), new(int32(3)), new(int32(40)))
		s.AutoScaleEnabled, s.TrafficThreshold = r.IntN(3) > 0, one(r, int32(1), 100)
		s.MinReplicas, s.MaxReplicas = one(r, int32(1), 3), one(r, int32(0), 5, 50)
		s.ConfigName = one(r, "", "", "settings")
		if r.IntN(4) == 0 {
			s.TrafficSource = &workloadsv1.TrafficSource{Port: 9090, Path: "/metrics", Metric: "requests_total"}
		}
		s.Fallback = one(r, nil, nil, &workloadsv1.ServiceProtection{None: &workloadsv1.NoFallback{}})
		if r.IntN(20) == 0 {
			s.Pod.Resources.Limits = workloadsv1.Quantities{corev1.ResourceMemory: "1e.5"}
		}
	})
}

// randomWorld is a WebApp at any moment: what exists may be its own, of an earlier spec, of an
// earlier WebApp, or of another user.
func randomWorld(r *rand.Rand) decide.Snapshot {
	s := decide.Snapshot{Now: now, WebApp: randomSpec(r), MeterImage: "workloads:1", Config: one(r, "", "settings-1")}
	before := randomSpec(r)
	isThere := func() bool { return r.IntN(4) > 0 }
	someones := func(object metav1.Object) {
		switch r.IntN(12) {
		case 0:
			object.SetOwnerReferences(nil)
			object.SetLabels(map[string]string{"team": "other"})
		case 1:
			object.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "mycrd.com/v1", Kind: "WebApp", Name: "web", UID: "of-an-earlier-one", Controller: new(true)}})
		}
	}
	if isThere() {
		s.Deployment = render.Deployment(before, one(r, "", "settings-1"), "workloads:1", one(r, int32(0), 1, 2, 7, 300))
		s.Deployment.ResourceVersion = "1"
		rolledOut(s.Deployment)
		s.Deployment.Status.ReadyReplicas = one(r, 0, s.Deployment.Status.ReadyReplicas)
		if r.IntN(8) == 0 {
			s.Deployment.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "quota"}}
		}
		someones(s.Deployment)
	}
	if isThere() {
		s.Service = render.Service(before)
		someones(s.Service)
	}
	if isThere() {
		s.Budget = render.Budget(before)
		s.Budget.Spec.MaxUnavailable = one(r, s.Budget.Spec.MaxUnavailable, nil)
		someones(s.Budget)
	}
	if had := render.Database(before); had != nil && s.WebApp.Spec.DBImage != "" && isThere() {
		s.Database = had
		someones(s.Database)
	}
	s.Fallback = fallback.Seen{Served: r.IntN(5) > 0}
	if s.Fallback.Served && isThere() {
		s.Fallback.Object = &criticalv2.ServiceFallback{ObjectMeta: render.Service(before).ObjectMeta}
		someones(s.Fallback.Object)
	}
	for i := range r.IntN(4) {
		pod := failing(one(r, "", "ImagePullBackOff", "CrashLoopBackOff"))
		pod.Name = fmt.Sprintf("web-1-%d", i)
		s.Pods = append(s.Pods, pod)
	}
	s.Autoscaler = one(r, decide.Autoscaler{}, decide.Autoscaler{}, decide.Autoscaler{Name: "own"}, decide.Autoscaler{Name: "own", OfDeployment: true})
	if asked := r.Int32N(10); r.IntN(3) > 0 {
		s.Reading = scale.Reading{Asked: asked, Known: r.Int32N(asked + 1), RequestsPerSecond: one(r, 0, 1, 100, 1e4, 1e300) * r.Float64()}
	}
	if r.IntN(2) == 0 {
		s.Memory = scale.Memory{
			Since: now.Add(-time.Hour), Past: []scale.Recommendation{{At: now.Add(-time.Minute), Pods: r.Int32N(9)}},
			Steps: []scale.Recommendation{{At: now.Add(-time.Second), Pods: r.Int32N(9)}},
		}
	}
	if r.IntN(6) == 0 {
		s.Refusals = map[decide.Subject]decide.Refusal{one(r, decide.OfApplication, decide.OfDatabase, decide.OfScale): {Message: "no"}}
	}
	return s
}

// eachWorld holds a law against Snapshots that a seed repeats.
func eachWorld(t *testing.T, law func(g Gomega, s *decide.Snapshot, plan *decide.Plan)) {
	t.Helper()
	for seed := range uint64(worlds) {
		s := randomWorld(rand.New(rand.NewPCG(seed, 0)))
		plan := decide.Decide(s)
		g := NewGomega(func(message string, _ ...int) { t.Fatalf("seed %d: %s", seed, message) })
		law(g, &s, &plan)
	}
}

func isBlocked(plan *decide.Plan) bool {
	return slices.Contains([]string{workloadsv1.ReasonNameTaken, workloadsv1.ReasonReplacing}, condition(plan, workloadsv1.ConditionReady).Reason)
}

func TestADecisionLeavesTheSnapshotAsItIs(t *testing.T) {
	for seed := range uint64(worlds) {
		s, same := randomWorld(rand.New(rand.NewPCG(seed, 0))), randomWorld(rand.New(rand.NewPCG(seed, 0)))
		decide.Decide(s)
		if !reflect.DeepEqual(s, same) {
			t.Fatalf("seed %d: the Snapshot was changed", seed)
		}
	}
}

func TestTheOrderOfThePodsDoesNotMatter(t *testing.T) {
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		turned := *s
		turned.Pods = slices.Clone(s.Pods)
		slices.Reverse(turned.Pods)
		g.Expect(decide.Decide(turned)).To(Equal(*plan))
	})
}

func TestAfterAllIsWrittenNothingIsLeftToWrite(t *testing.T) {
	eachWorld(t, func(g Gomega, s *decide.Snapshot, _ *decide.Plan) {
		s.Reading = scale.Reading{} // Traffic goes on changing the number of Pods.
		settled := settle(*s)
		plan := decide.Decide(settled)
		g.Expect(plan.IsEmpty()).To(BeTrue(), "%+v", plan)
		settled.WebApp = settled.WebApp.DeepCopy()
		settled.WebApp.Status = plan.Status
		g.Expect(decide.Decide(settled).Status).To(Equal(plan.Status), "the status wakes nothing, and says the same")
	})
}

func TestWhatIsAnothersIsLeftAlone(t *testing.T) {
	left := 0
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		owner := render.Owner(s.WebApp)
		isForeign := func(object metav1.Object) bool { return !owner.IsOurs(object) }
		if s.Deployment != nil && isForeign(s.Deployment) {
			left++
			g.Expect(plan.IsEmpty()).To(BeTrue())
		}
		if s.Service != nil && isForeign(s.Service) {
			left++
			g.Expect(plan.IsEmpty()).To(BeTrue(), "its ServiceFallback would change what answers there")
		}
		if s.Budget != nil && isForeign(s.Budget) {
			left++
			g.Expect([]*policyv1.PodDisruptionBudget{plan.Budget, plan.RemoveBudget}).To(HaveEach(BeNil()))
		}
		if s.Database != nil && isForeign(s.Database) {
			left++
			g.Expect(plan.Database).To(BeNil())
		}
		if made := s.Fallback.Object; made != nil && isForeign(made) {
			left++
			g.Expect(plan.Fallback).To(Equal(fallback.Change{}))
		}
	})
	NewWithT(t).Expect(left).To(BeNumerically(">", worlds/5))
}

func TestTheTrafficKeepsTheNumberOfPodsWithinTheBounds(t *testing.T) {
	scaled := 0
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		if plan.Scale == nil {
			return
		}
		scaled++
		spec := &s.WebApp.Spec
		g.Expect(spec.AutoScaleEnabled).To(BeTrue())
		g.Expect(s.Autoscaler.Name).To(BeEmpty())
		g.Expect(*plan.Scale).To(BeNumerically(">=", spec.MinReplicas))
		if spec.MaxReplicas != 0 {
			g.Expect(*plan.Scale).To(BeNumerically("<=", max(spec.MaxReplicas, spec.MinReplicas)))
		} else {
			g.Expect(*plan.Scale).To(BeNumerically("<=", max(workloadsv1.DefaultMaxReplicas, s.WebApp.InitialReplicas(), *s.Deployment.Spec.Replicas)))
		}
	})
	NewWithT(t).Expect(scaled).To(BeNumerically(">", worlds/20))
}

func TestWithoutAutoscalingThereAreAsManyPodsAsTheSpecSays(t *testing.T) {
	written := 0
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		if s.WebApp.Spec.AutoScaleEnabled || s.Autoscaler.OfDeployment {
			return
		}
		g.Expect(plan.Scale).To(BeNil())
		g.Expect(plan.Follow).To(BeFalse())
		if plan.Deployment != nil {
			written++
			g.Expect(*plan.Deployment.Spec.Replicas).To(Equal(s.WebApp.InitialReplicas()))
		}
	})
	NewWithT(t).Expect(written).To(BeNumerically(">", worlds/20))
}

// Fail static: only bounds that the spec gives are put through.
func TestWithoutTrafficThatIsKnownTheNumberOfPodsStays(t *testing.T) {
	kept := 0
	eachWorld(t, func(g Gomega, s *decide.Snapshot, _ *decide.Plan) {
		s.Reading.Known = 0
		plan := decide.Decide(*s)
		spec := &s.WebApp.Spec
		if !spec.AutoScaleEnabled || s.Deployment == nil || s.Autoscaler.Name != "" {
			return
		}
		has := *s.Deployment.Spec.Replicas
		if has < spec.MinReplicas || spec.MaxReplicas != 0 && has > spec.MaxReplicas {
			return
		}
		kept++
		g.Expect(plan.Scale).To(BeNil())
		g.Expect(plan.Status.DesiredReplicas).To(Equal(has))
		g.Expect(plan.Status.RequestsPerSecond).To(BeEmpty())
	})
	NewWithT(t).Expect(kept).To(BeNumerically(">", worlds/20))
}

func TestAnotherAutoscalerIsNeverFought(t *testing.T) {
	left := 0
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		if s.Autoscaler.Name == "" || s.Deployment == nil || !s.Autoscaler.OfDeployment && !s.WebApp.Spec.AutoScaleEnabled {
			return
		}
		left++
		g.Expect(plan.Scale).To(BeNil())
		g.Expect(plan.Memory).To(Equal(scale.Memory{}), "the past begins again")
		if plan.Deployment != nil {
			g.Expect(plan.Deployment.Spec.Replicas).To(Equal(s.Deployment.Spec.Replicas))
			g.Expect(plan.Deployment.ResourceVersion).To(Equal(s.Deployment.ResourceVersion), "the number may have changed since")
		}
	})
	NewWithT(t).Expect(left).To(BeNumerically(">", worlds/20))
}

// No Plan can delete a Database: it has no field for it.
func TestADatabaseKeepsItsEngineAndItsData(t *testing.T) {
	written := 0
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		if plan.Database == nil {
			return
		}
		if s.Database != nil {
			written++
			g.Expect(plan.Database.Spec.Type).To(Equal(s.Database.Spec.Type))
		}
		if storage := plan.Database.Spec.Storage; storage != nil {
			g.Expect(storage.DeletionPolicy).To(Equal(workloadsv1.DeletionRetain))
		}
	})
	NewWithT(t).Expect(written).To(BeNumerically(">", 0))
}

func TestABudgetIsForTwoPodsAtLeast(t *testing.T) {
	made, removed := 0, 0
	eachWorld(t, func(g Gomega, _ *decide.Snapshot, plan *decide.Plan) {
		if plan.Budget != nil {
			made++
			g.Expect(plan.Status.DesiredReplicas).To(BeNumerically(">=", 2))
			g.Expect(plan.Budget.Spec.MaxUnavailable.IntValue()).To(Equal(1), "drains are not blocked")
		}
		if plan.RemoveBudget != nil {
			removed++
			g.Expect(plan.Status.DesiredReplicas).To(BeNumerically("<", 2))
		}
	})
	NewWithT(t).Expect([]int{made, removed}).To(HaveEach(BeNumerically(">", 10)))
}

// No Plan can delete a Pod or a Deployment. What is bad is written only where Kubernetes keeps what runs.
func TestBadInputNeverTakesAwayWhatRuns(t *testing.T) {
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		if plan.Deployment != nil {
			g.Expect(plan.Deployment.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue()).To(Equal(0))
			g.Expect(s.WebApp.Validate()).To(Succeed())
			g.Expect(s.WebApp.Spec.ConfigName == "" || s.Config != "").To(BeTrue())
		}
	})
}

func TestAServiceIsBornProtectedOrItIsSaidWhyNot(t *testing.T) {
	eachWorld(t, func(g Gomega, _ *decide.Snapshot, plan *decide.Plan) {
		if plan.Service == nil || plan.Fallback.Apply != nil {
			return
		}
		g.Expect(condition(plan, workloadsv1.ConditionProtected).Reason).NotTo(BeEmpty())
	})
}

// What no watch reports is looked for again: ever more seldom, and never not at all.
func TestWhatNoWatchReportsIsLookedForAgain(t *testing.T) {
	looked := 0
	eachWorld(t, func(g Gomega, _ *decide.Snapshot, plan *decide.Plan) {
		if isBlocked(plan) && condition(plan, workloadsv1.ConditionReady).Reason == workloadsv1.ReasonNameTaken {
			looked++
			g.Expect(plan.RecheckAfter).To(And(BeNumerically(">", 0), BeNumerically("<=", 8*time.Minute)))
		}
	})
	NewWithT(t).Expect(looked).To(BeNumerically(">", 10))
}

// No watch says when what the API server refused would be accepted, whatever else is wrong.
func TestWhatWasRefusedIsTriedAgain(t *testing.T) {
	eachWorld(t, func(g Gomega, s *decide.Snapshot, _ *decide.Plan) {
		if s.WebApp == nil || s.WebApp.DeletionTimestamp != nil {
			return
		}
		s.Refusals = map[decide.Subject]decide.Refusal{decide.OfApplication: {Message: "no"}}
		g.Expect(decide.Decide(*s).RecheckAfter).To(BeNumerically(">", 0))
	})
}
