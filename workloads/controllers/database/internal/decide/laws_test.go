package decide_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	criticalv2 "github.com/critical-service/operator/api/v2"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// worlds is how many random Snapshots each law is held against.
const worlds = 5_000

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

func TestADecisionLeavesTheSnapshotAsItIs(t *testing.T) {
	for seed := range uint64(worlds) {
		s, same := randomWorld(rand.New(rand.NewPCG(seed, 0))), randomWorld(rand.New(rand.NewPCG(seed, 0)))
		decide.Decide(s)
		if !reflect.DeepEqual(s, same) {
			t.Fatalf("seed %d: the Snapshot was changed", seed)
		}
	}
}

func TestThereIsAtMostOnePod(t *testing.T) {
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		if plan.CreatePod != nil {
			g.Expect(s.Pod).To(BeNil(), "the next one is made when the last is gone")
			g.Expect(plan.CreatePod.Name).To(Equal(s.Database.Name), "two cannot have one name")
		}
	})
}

func TestAPodWithAVolumeIsNeverForced(t *testing.T) {
	forced := 0
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		if plan.RemovePod != nil && plan.RemovePod.Force {
			forced++
			g.Expect(render.HasVolume(s.Pod)).To(BeFalse())
			g.Expect(s.Pod.DeletionTimestamp).NotTo(BeNil())
		}
	})
	NewWithT(t).Expect(forced).To(BeNumerically(">", 0), "one without is")
}

// The engine took its password into its data: another one would not open it.
func TestAPasswordIsGeneratedOnlyWhereNoDataKnowsAnother(t *testing.T) {
	generated := 0
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		if plan.Generate {
			generated++
			g.Expect(s.Secret.Found).To(BeFalse(), "it would be overwritten")
			g.Expect(s.Claim).To(BeNil())
			g.Expect(s.Pod).To(BeNil())
			g.Expect(s.Database.OwnsSecret()).To(BeTrue())
		}
	})
	NewWithT(t).Expect(generated).To(BeNumerically(">", 0))
}

// Its name, password and address would be of a database that is not there.
func TestADatabaseHasNoSecretOfAnotherEngine(t *testing.T) {
	others := 0
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		if s.Secret.Engine == "" || s.Secret.Engine == string(s.Database.Spec.Type) || !s.Database.OwnsSecret() {
			return
		}
		others++
		g.Expect(plan.CreatePod).To(BeNil())
		g.Expect(plan.CreateClaim).To(BeNil())
	})
	NewWithT(t).Expect(others).To(BeNumerically(">", 0))
}

// No Plan can delete a claim: it has no field for it. A change keeps all that holds data.
func TestAClaimIsNeverDeletedAndNeverShrinks(t *testing.T) {
	eachWorld(t, func(g Gomega, _ *decide.Snapshot, plan *decide.Plan) {
		for _, change := range plan.ChangeClaim {
			has, wants := change.From.Spec.Resources.Requests[corev1.ResourceStorage], change.To.Spec.Resources.Requests[corev1.ResourceStorage]
			g.Expect(wants.Cmp(has)).To(BeNumerically(">=", 0))
			g.Expect(change.To.DeletionTimestamp).To(Equal(change.From.DeletionTimestamp))
			g.Expect(change.To.Name).To(Equal(change.From.Name))
		}
	})
}

// An engine may not read what another version of it wrote: the operator's setting is for data
// that no engine has had.
func TestDataIsGivenToAnotherImageOnlyByTheSpec(t *testing.T) {
	given := 0
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		if plan.CreatePod == nil || s.Claim == nil || s.Database.Spec.Image != "" || s.Claim.Annotations[workloadsv1.AnnotationImage] == "" {
			return
		}
		given++
		g.Expect(plan.CreatePod.Spec.Containers[0].Image).To(Equal(s.Claim.Annotations[workloadsv1.AnnotationImage]))
	})
	NewWithT(t).Expect(given).To(BeNumerically(">", 0))
}

// What never came up may not exist, or cannot read the data.
func TestAnImageThatNeverCameUpIsNotNoted(t *testing.T) {
	before, while := 0, 0
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		if plan.CreateClaim != nil && !hasComeUp(s) {
			g.Expect(plan.CreateClaim.Annotations).NotTo(HaveKey(workloadsv1.AnnotationImage))
		}
		changes := plan.ChangeClaim
		if plan.NoteImage != nil {
			before++
			g.Expect(plan.RemovePod).NotTo(BeNil())
			changes = append(slices.Clone(changes), *plan.NoteImage)
		}
		for _, change := range changes {
			g.Expect(change.From).To(BeIdenticalTo(s.Claim), "one that has changed since is not written")
			noted := change.To.Annotations[workloadsv1.AnnotationImage]
			if noted == s.Claim.Annotations[workloadsv1.AnnotationImage] {
				continue
			}
			while++
			g.Expect(hasComeUp(s)).To(BeTrue())
			g.Expect(noted).To(Equal(s.Pod.Spec.Containers[0].Image))
		}
	})
	NewWithT(t).Expect(before).To(BeNumerically(">", 0))
	NewWithT(t).Expect(while).To(BeNumerically(">", before))
}

// Once it is gone, only the claim knows which image the data had.
func TestAPodGoesOnceItsImageIsNoted(t *testing.T) {
	noted := 0
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		if plan.RemovePod == nil || plan.RemovePod.Successor == nil || s.Claim == nil || !hasComeUp(s) {
			return
		}
		noted++
		g.Expect(carriedOut(*s, plan).Claim.Annotations).To(HaveKeyWithValue(workloadsv1.AnnotationImage, s.Pod.Spec.Containers[0].Image))
	})
	NewWithT(t).Expect(noted).To(BeNumerically(">", 0))
}

func hasComeUp(s *decide.Snapshot) bool {
	return s.Pod != nil && (len(s.Pod.Status.Conditions) > 0 || s.Pod.Annotations[workloadsv1.AnnotationCameUp] != "")
}

// What the dry run accepts must be what is made when the last Pod is gone.
func TestTheNextPodIsTheOneThatTheAPIServerWasAskedAbout(t *testing.T) {
	replaced := 0
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		if plan.RemovePod == nil || plan.RemovePod.Successor == nil || s.Database.Spec.Storage == nil {
			return
		}
		next := carriedOut(*s, plan)
		if s.Database.Spec.Image != "" || next.Claim != nil && next.Claim.Annotations[workloadsv1.AnnotationImage] != "" {
			next.Image = "mongo:9.9" // Of data that no engine has had, it is what the next Pod has.
		}
		if made := decide.Decide(next).CreatePod; made != nil {
			replaced++
			g.Expect(made.Spec).To(Equal(plan.RemovePod.Successor.Spec))
		}
	})
	NewWithT(t).Expect(replaced).To(BeNumerically(">", 0))
}

func TestAfterAllIsWrittenNothingIsLeftToWrite(t *testing.T) {
	eachWorld(t, func(g Gomega, s *decide.Snapshot, _ *decide.Plan) {
		settled := settle(*s)
		plan := decide.Decide(settled)
		g.Expect(plan.IsEmpty()).To(BeTrue(), "%+v", plan)
		settled.Database = settled.Database.DeepCopy()
		settled.Database.Status = plan.Status
		again := decide.Decide(settled)
		g.Expect(again.Status).To(Equal(plan.Status), "the status wakes nothing, and says the same")
	})
}

// The operator may die after any write of a Plan. The status then says what it said before.
func TestTheEndIsTheSameAfterWhicheverWriteTheOperatorDies(t *testing.T) {
	died := 0
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		if plan.IsEmpty() {
			return
		}
		last := firstWrites(s, plan, died%9)
		died++
		end, same := settle(*s), settle(carriedOut(*s, last))
		g.Expect(same.Fallback).To(Equal(end.Fallback))
		g.Expect(same.Service).To(Equal(end.Service))
		g.Expect(same.Secret).To(Equal(end.Secret))
		g.Expect(same.Claim).To(Equal(end.Claim))
		g.Expect(same.Pod).To(Equal(end.Pod))
		g.Expect(same.Trial).To(Equal(end.Trial))
	})
}

// firstWrites is a Plan of which only the first writes are done, in the order of apply.
func firstWrites(s *decide.Snapshot, plan *decide.Plan, done int) *decide.Plan {
	part := *plan
	part.Status = s.Database.Status
	for i, drop := range []func(){
		func() { part.Fallback = fallback.Change{} },
		func() { part.Service = nil },
		func() { part.Generate = false },
		func() { part.CreateClaim = nil },
		func() { part.NoteImage = nil },
		func() { part.CreatePod, part.ChangePod, part.RemovePod = nil, nil, nil },
		func() { part.ChangeClaim = nil },
		func() { part.CreateTrial, part.RemoveTrial = nil, nil },
	} {
		if i >= done {
			drop()
		}
	}
	return &part
}

func TestAServiceSelectsItsOwnPodAndNoOther(t *testing.T) {
	g := NewWithT(t)
	for _, name := range []string{"orders", "orders-2", "a", "carts"} {
		for _, other := range []string{"orders", "orders-2", "a", "carts"} {
			selector := labels.SelectorFromSet(render.Service(another(name)).Spec.Selector)
			g.Expect(selector.Matches(labels.Set(podOf(another(other)).Labels))).To(Equal(name == other), "%s and %s", name, other)
		}
	}
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		wanted := map[string]string{workloadsv1.LabelDatabase: s.Database.Name}
		switch {
		case plan.Service != nil:
			g.Expect(plan.Service.Spec.Selector).To(Equal(wanted))
		case s.Service != nil && render.IsOurs(s.Database, s.Service):
			g.Expect(s.Service.Spec.Selector).To(Equal(wanted), "a user's change is not left")
		}
	})
}

// An outage may come in the next moment.
func TestAServiceIsBornProtectedOrItIsSaidWhyNot(t *testing.T) {
	protected, waiting, failing := 0, 0, 0
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		has := s.Fallback.Object
		isEarlier := has != nil && render.IsEarlier(s.Database, has)
		switch {
		case s.Service != nil:
			return
		case isEarlier:
			waiting++
			g.Expect(plan.Service).To(BeNil(), "the ServiceFallback is about to be deleted")
			return
		case s.AwaitsAnswer():
			failing++
			g.Expect(plan.Service).To(BeNil(), "the failure may pass")
			g.Expect(plan.RecheckAfter).To(BeNumerically(">", 0))
			return
		}
		g.Expect(plan.Service).NotTo(BeNil(), "nothing else keeps a database from running")
		if plan.Fallback.Apply != nil || has != nil && render.IsOurs(s.Database, has) {
			protected++
			return
		}
		g.Expect(plan.Status.Conditions).To(ContainElement(And(
			HaveField("Type", workloadsv1.ConditionProtected), HaveField("Status", metav1.ConditionFalse), HaveField("Reason", BeElementOf(
				workloadsv1.ReasonFallbackUnavailable, workloadsv1.ReasonFallbackNone, workloadsv1.ReasonNameTaken, workloadsv1.ReasonCreateDenied)))))
	})
	NewWithT(t).Expect([]int{protected, waiting, failing}).To(HaveEach(BeNumerically(">", 0)))
}

// The core does not protect a Service that selects by a label of its own.
func TestTheCoreProtectsWhatTheServiceSelectsBy(t *testing.T) {
	for key := range render.Service(database()).Spec.Selector {
		NewWithT(t).Expect(key).NotTo(HavePrefix(criticalv2.ReservedPrefix))
	}
}

// What runs is also an engine that starts again just now: it would be back in a moment.
func TestBadInputNeverTakesAwayWhatRuns(t *testing.T) {
	kept := map[string]int{
		workloadsv1.ReasonNameTaken: 0, workloadsv1.ReasonSecretInvalid: 0, workloadsv1.ReasonImagePullFailing: 0, workloadsv1.ReasonPodFailing: 0,
		workloadsv1.ReasonStorageTerminating: 0, workloadsv1.ReasonUnschedulable: 0, workloadsv1.ReasonCreateDenied: 0,
	}
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		reason := meta.FindStatusCondition(plan.Status.Conditions, workloadsv1.ConditionReady).Reason
		runs := s.Pod != nil && s.Pod.Status.Phase == corev1.PodRunning && s.Pod.DeletionTimestamp == nil && hasComeUp(s)
		if !runs || s.Database.Spec.Suspend {
			return
		}
		if plan.RemovePod != nil {
			g.Expect(plan.RemovePod.Successor).NotTo(BeNil(), "the API server is asked before it goes")
			g.Expect(s.Trial.Status.ContainerStatuses[0].State).To(Equal(passed()), reason)
		}
		if _, isBad := kept[reason]; isBad && s.Refusal == nil {
			kept[reason]++
			g.Expect(plan.RemovePod).To(BeNil(), reason)
		}
	})
	NewWithT(t).Expect(kept).To(HaveEach(BeNumerically(">", 0)))
}

// The claim waits for the Pod that uses it, and the next one would begin without data.
func TestAClaimThatIsBeingDeletedKeepsItsPod(t *testing.T) {
	kept := 0
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		if s.Claim == nil || s.Claim.DeletionTimestamp == nil {
			return
		}
		g.Expect(plan.RemovePod).To(BeNil())
		g.Expect(plan.CreatePod).To(BeNil())
		g.Expect(plan.ChangeClaim).To(BeEmpty())
		if s.Pod != nil {
			kept++
		}
	})
	NewWithT(t).Expect(kept).To(BeNumerically(">", 0))
}

func TestWhatIsAnothersIsLeftAlone(t *testing.T) {
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		isForeign := func(object metav1.Object) bool { return !render.IsOurs(s.Database, object) }
		if s.Service != nil && isForeign(s.Service) {
			g.Expect(plan.Service).To(BeNil())
			g.Expect(plan.Status.Address).To(BeEmpty())
			g.Expect(plan.Fallback.Apply).To(BeNil(), "it would take the place of what the Service's team has chosen")
			if made := s.Fallback.Object; made != nil && !isForeign(made) {
				g.Expect(plan.Fallback.Remove).To(BeIdenticalTo(made))
			}
		}
		if s.Pod != nil && isForeign(s.Pod) {
			g.Expect([]any{plan.CreatePod, plan.ChangePod, plan.RemovePod}).To(HaveEach(BeNil()))
			g.Expect(plan.Status.PodName).To(BeEmpty())
		}
		if s.Claim != nil && isForeign(s.Claim) {
			g.Expect(plan.ChangeClaim).To(BeEmpty())
			g.Expect(plan.CreatePod).To(BeNil(), "it would write into another's volume")
		}
		if controller := s.Fallback.Object; controller != nil && isForeign(controller) {
			g.Expect(plan.Fallback).To(Equal(fallback.Change{}))
		}
	})
}

// The garbage collector takes it in the next moment.
func TestAClaimThatGoesWithAnEarlierDatabaseIsNotUsed(t *testing.T) {
	waited := 0
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		if s.Claim != nil && len(s.Claim.OwnerReferences) > 0 && s.Claim.OwnerReferences[0].UID == "of-an-earlier-one" {
			waited++
			g.Expect(plan.CreatePod).To(BeNil())
			g.Expect(plan.ChangeClaim).To(BeEmpty())
		}
	})
	NewWithT(t).Expect(waited).To(BeNumerically(">", 0))
}

// What no watch reports is looked for again: ever more seldom, and never not at all.
func TestWhatNoWatchReportsIsLookedForAgain(t *testing.T) {
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		if s.Database.Validate() != nil {
			return // The watch of Databases reports when that ends.
		}
		switch meta.FindStatusCondition(plan.Status.Conditions, workloadsv1.ConditionReady).Reason {
		case workloadsv1.ReasonNameTaken, workloadsv1.ReasonSecretInvalid, workloadsv1.ReasonCreateDenied, workloadsv1.ReasonStorageDenied:
			g.Expect(plan.RecheckAfter).To(And(BeNumerically(">", 0), BeNumerically("<=", 8*time.Minute)))
		}
	})
}

func TestMessagesAreBounded(t *testing.T) {
	eachWorld(t, func(g Gomega, s *decide.Snapshot, _ *decide.Plan) {
		s.Refusal = &decide.Refusal{Reason: workloadsv1.ReasonCreateDenied, Message: fmt.Sprintf("%2000d", 1)}
		for _, condition := range decide.Decide(*s).Status.Conditions {
			g.Expect(condition.Message).NotTo(BeEmpty())
			g.Expect(len(condition.Message)).To(BeNumerically("<=", 1100))
		}
	})
}

// No watch says when what the API server refused would be accepted, whatever else is wrong.
func TestWhatWasRefusedIsTriedAgain(t *testing.T) {
	eachWorld(t, func(g Gomega, s *decide.Snapshot, _ *decide.Plan) {
		if s.Database == nil || s.Database.DeletionTimestamp != nil {
			return
		}
		s.Refusal = &decide.Refusal{Reason: workloadsv1.ReasonCreateDenied, Message: "no"}
		g.Expect(decide.Decide(*s).RecheckAfter).To(BeNumerically(">", 0))
	})
}
