package decide_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers/appconfig/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/appconfig/internal/render"
)

func ready(status workloadsv2.AppConfigStatus) *metav1.Condition {
	return meta.FindStatusCondition(status.Conditions, workloadsv2.ConditionReady)
}

func TestWhatTheStatusSays(t *testing.T) {
	for sentence, test := range map[string]struct {
		happens func(w *world)
		reason  string
		// says is in the message, and stalled whether a person has to act.
		says    string
		stalled bool
	}{
		"settings that nothing uses are up to date": {
			func(*world) {}, workloadsv2.ReasonUpToDate, "no Deployment or StatefulSet has the label mycrd.com/appconfig: shop", false,
		},
		"a workload takes them": {
			func(w *world) { w.use("storefront") }, workloadsv2.ReasonUpToDate, "1 workload takes it", false,
		},
		"two workloads take them": {
			func(w *world) { w.use("storefront"); w.use("till") }, workloadsv2.ReasonUpToDate, "2 workloads take it", false,
		},
		"an annotation that is no version, which no schema can refuse": {
			func(w *world) { w.app.Annotations = map[string]string{workloadsv2.AnnotationVersion: ""} },
			workloadsv2.ReasonUpToDate, "mycrd.com/appconfig-version has no effect: in v1 a version has 1 to 63 characters", false,
		},
		"a name that another user has": {
			func(w *world) { w.foreign[w.set("info")] = true }, workloadsv2.ReasonNameTaken, "workloads keep what they have until it is deleted", true,
		},
		"the name of the page that another user has": {
			func(w *world) { w.app.Labels = content; w.foreign["shop"] = true },
			workloadsv2.ReasonNameTaken, `ConfigMap "shop" is not as the operator would make it of this AppConfig`, true,
		},
		"a ConfigMap of ours that is not as it was made": {
			func(w *world) {
				w.settle()
				w.configs[0].Hash = render.Hash(map[string]string{"LOG_LEVEL": "none"})
			},
			workloadsv2.ReasonNameTaken, "is left as it is", true,
		},
		"a workload whose variables another manager has set": {
			func(w *world) { w.use("storefront").Manager = "helm" },
			workloadsv2.ReasonFieldConflict, "Deployment storefront (container app, set by helm). Remove envFrom there", true,
		},
		"of many such workloads it names three": {
			func(w *world) {
				for _, name := range []string{"a", "b", "c", "d", "e"} {
					w.use(name).Manager = "helm"
				}
			},
			workloadsv2.ReasonFieldConflict, "Deployment c (container app, set by helm) and 2 more", true,
		},
		"a workload that has them already, set by another manager": {
			func(w *world) {
				workload := w.use("storefront")
				workload.Manager, workload.ConfigMap = "kubectl", w.set("info")
			},
			workloadsv2.ReasonUpToDate, "1 workload takes it", false,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld()
			test.happens(w)
			plan := w.settle()
			condition := ready(plan.Status)
			g.Expect(condition.Reason).To(Equal(test.reason))
			g.Expect(meta.IsStatusConditionTrue(plan.Status.Conditions, condition.Type)).To(Equal(test.reason == workloadsv2.ReasonUpToDate))
			g.Expect(condition.Message).To(ContainSubstring(test.says))
			g.Expect(meta.IsStatusConditionTrue(plan.Status.Conditions, workloadsv2.ConditionStalled)).To(Equal(test.stalled))
			g.Expect(plan.Status.ObservedGeneration).To(Equal(w.app.Generation))
		})
	}
}

var content = map[string]string{"mycrd.com/responder": "content"}

func TestARolloutForEachChange(t *testing.T) {
	g := NewWithT(t)
	w := newWorld()
	w.use("storefront")
	w.use("till")
	w.settle()
	next := w.set("info")
	plan := decide.Decide(w.see())
	g.Expect(plan.Roll).To(HaveLen(2))
	g.Expect(plan.Create).To(BeEquivalentTo(2))
	g.Expect(plan.Status.ConfigMapName).To(Equal(next))
	w.do(plan)
	g.Expect(decide.Decide(w.see()).Roll).To(BeEmpty(), "one write to each, and no second")
}

func TestWhatIsCalledOtherwiseRollsNothing(t *testing.T) {
	g := NewWithT(t)
	w := newWorld()
	w.use("storefront")
	before := w.settle().Status.ConfigMapName
	w.app.Spec.Configuration.Version = "1.5"
	plan := decide.Decide(w.see())
	g.Expect(plan.Roll).To(BeEmpty())
	g.Expect(plan.Create).To(BeZero())
	g.Expect(plan.Status.ConfigMapName).To(Equal(before))
	g.Expect(plan.Update).To(HaveLen(1))
	g.Expect(plan.Update[0].To.Annotations).To(HaveKeyWithValue(workloadsv2.AnnotationVersion, "1.5"))
}

func TestTheOldSpecGivesTheOldName(t *testing.T) {
	g := NewWithT(t)
	w := newWorld()
	w.use("storefront")
	first := w.settle().Status.ConfigMapName
	second := w.set("info")
	w.settle()
	g.Expect(w.workloads[0].ConfigMap).To(Equal(second))
	g.Expect(w.set("debug")).To(Equal(first))
	plan := decide.Decide(w.see())
	g.Expect(plan.Create).To(BeZero(), "it is still there")
	w.do(plan)
	g.Expect(w.workloads[0].ConfigMap).To(Equal(first))
	for _, value := range []string{"warn", "error"} {
		w.set(value)
		w.settle()
	}
	g.Expect(w.names()).To(ContainElement(first), "after the rollback it was the newest")
	g.Expect(w.names()).NotTo(ContainElement(second))
}

func TestThreeAreKept(t *testing.T) {
	g := NewWithT(t)
	w := newWorld()
	w.use("storefront")
	var names []string
	for _, value := range []string{"1", "2", "3", "4", "5"} {
		names = append(names, w.set(value))
		w.settle()
	}
	g.Expect(w.names()).To(ConsistOf(names[2:]))
}

func TestWhatIsInUseIsKept(t *testing.T) {
	for sentence, happens := range map[string]func(w *world, first string){
		"what something in the namespace names": func(w *world, first string) { w.pinned[first] = true },
		"what a workload takes that another manager holds back": func(w *world, _ string) {
			w.workloads[0].Manager = "kubectl-rollout"
		},
		"everything while a workload rolls out": func(w *world, _ string) { w.workloads[0].RolledOut = false },
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld()
			w.use("storefront")
			first := w.settle().Status.ConfigMapName
			happens(w, first)
			for _, value := range []string{"1", "2", "3", "4"} {
				w.set(value)
				w.settle()
			}
			g.Expect(w.names()).To(ContainElement(first))
		})
	}
}

func TestNothingIsDeletedBeforeItIsKnownWhatIsInUse(t *testing.T) {
	g := NewWithT(t)
	w := newWorld()
	for _, value := range []string{"1", "2", "3", "4"} {
		w.set(value)
		w.do(decide.Decide(w.see()))
	}
	s := w.see()
	s.Used = nil
	plan := decide.Decide(s)
	g.Expect(plan.Delete).To(BeEmpty())
	g.Expect(plan.RecheckAfter).To(BeNumerically("~", 10*time.Second, 5*time.Second), "soon after a change")
	s.Now = s.Now.Add(24 * time.Hour)
	g.Expect(decide.Decide(s).RecheckAfter).To(BeNumerically(">=", 10*time.Minute), "seldom where that cannot be read for long: others want to, too")
	g.Expect(decide.Decide(w.see()).Delete).To(HaveLen(1))
}

// Often what uses one is a Pod that is ending, and nothing reports that it has.
func TestWhatWasInUseGoesOnceItIsNot(t *testing.T) {
	g := NewWithT(t)
	w := newWorld()
	first := w.set("0")
	w.pinned[first] = true
	for _, value := range []string{"0", "1", "2", "3"} {
		w.set(value)
		w.settle()
	}
	g.Expect(w.names()).To(ContainElement(first))
	wait := decide.Decide(w.see()).RecheckAfter
	g.Expect(wait).To(And(BeNumerically(">=", time.Minute), BeNumerically("<", 2*time.Minute)))
	w.now = w.now.Add(wait)
	w.pinned[first] = false
	w.settle()
	g.Expect(w.names()).NotTo(ContainElement(first))
	g.Expect(decide.Decide(w.see()).RecheckAfter).To(BeZero())
}

func TestWhatGoesIsNotChangedBefore(t *testing.T) {
	g := NewWithT(t)
	w := newWorld()
	for _, value := range []string{"1", "2", "3", "4"} {
		w.set(value)
		w.do(decide.Decide(w.see()))
	}
	w.app.Labels = content
	plan := decide.Decide(w.see())
	g.Expect(plan.Delete).To(HaveLen(1))
	g.Expect(plan.Update).To(HaveLen(3), "the label is copied to those that stay")
}

// A user of the namespace can make any number of ConfigMaps that look like the operator's.
func TestOnePassIsBounded(t *testing.T) {
	g := NewWithT(t)
	w := newWorld()
	for i := range 200 {
		w.set(strconv.Itoa(i))
		config := render.Revision(w.app, int64(i+1))
		w.configs = append(w.configs, decide.ConfigMap{ConfigMap: config, Hash: render.Hash(config.Data)})
	}
	s := w.see()
	g.Expect(decide.NeedsOf(s).Stale).To(HaveLen(32), "only so many are looked for")
	g.Expect(decide.NeedsOf(s).Stale).To(ContainElement(w.configs[0].Name), "the oldest first")
	g.Expect(decide.Decide(s).Delete).To(HaveLen(32))
	w.app.Labels = content
	g.Expect(decide.Decide(w.see()).Update).To(HaveLen(100))
	w.settle()
	g.Expect(w.configs).To(HaveLen(3+1), "the rest follows: three revisions and the page stay")
}

// They outlived an earlier AppConfig of the name, because workloads take them.
func TestWhatBelongsToNoAppConfigIsTakenOver(t *testing.T) {
	g := NewWithT(t)
	w := newWorld()
	w.use("storefront")
	w.settle()
	w.configs[0].ConfigMap = w.configs[0].DeepCopy()
	w.configs[0].OwnerReferences = w.configs[0].OwnerReferences[1:]
	w.app.UID = "app-2"
	plan := decide.Decide(w.see())
	g.Expect(plan.Create).To(BeZero())
	g.Expect(plan.Roll).To(BeEmpty())
	g.Expect(plan.Update).To(HaveLen(1))
	g.Expect(metav1.IsControlledBy(plan.Update[0].To, w.app)).To(BeTrue())
	g.Expect(plan.Update[0].To.OwnerReferences).To(ContainElement(HaveField("UID", types.UID("storefront"))))
}

func TestThePageIsThereWhileTheLabelIs(t *testing.T) {
	g := NewWithT(t)
	w := newWorld()
	w.settle()
	g.Expect(w.names()).NotTo(ContainElement("shop"))
	w.app.Labels = content
	w.settle()
	g.Expect(w.names()).To(ContainElement("shop"))
	for _, config := range w.configs {
		g.Expect(config.Labels).To(HaveKeyWithValue("mycrd.com/responder", "content"), config.Name)
	}
	w.set("info")
	g.Expect(decide.Decide(w.see()).WritePage).To(BeTrue(), "its data follows the settings")
	w.settle()
	w.app.Labels = nil
	w.settle()
	g.Expect(w.names()).NotTo(ContainElement("shop"))
	for _, config := range w.configs {
		g.Expect(config.Labels).NotTo(HaveKey("mycrd.com/responder"), config.Name)
	}
}

func TestWhatIsRefusedChangesNothing(t *testing.T) {
	g := NewWithT(t)
	w := newWorld()
	w.use("storefront")
	before := w.settle().Status
	w.set("info")
	plan := decide.Failed(w.see(), "exceeded quota: "+strings.Repeat("x", 5000))
	g.Expect(ready(plan.Status).Reason).To(Equal(workloadsv2.ReasonWriteDenied))
	g.Expect(ready(plan.Status).Message).To(ContainSubstring("exceeded quota"))
	g.Expect(len(ready(plan.Status).Message)).To(BeNumerically("<", 1000))
	g.Expect(plan.Status.ConfigMapName).To(Equal(before.ConfigMapName))
	g.Expect(plan.Roll).To(BeEmpty())
	g.Expect(plan.Create).To(BeZero())
	g.Expect(plan.RecheckAfter).To(BeNumerically("<", 2*time.Second))
	g.Expect(meta.FindStatusCondition(plan.Status.Conditions, workloadsv2.ConditionStalled)).To(BeNil(), "it may pass")

	w.app.Status = plan.Status
	w.now = w.now.Add(time.Hour)
	g.Expect(decide.Failed(w.see(), "exceeded quota").RecheckAfter).To(BeNumerically("<", 2*time.Second), "the status says so only now")
	w.now = w.now.Add(time.Hour)
	g.Expect(decide.Failed(w.see(), "exceeded quota").RecheckAfter).To(BeNumerically(">=", 10*time.Minute), "it is retried ever more seldom")
}

// The status was False before, too, so that its transition time says nothing.
func TestAProblemThatFollowsAnotherIsNew(t *testing.T) {
	g := NewWithT(t)
	w := newWorld()
	w.use("storefront").Manager = "helm"
	w.settle()
	w.now = w.now.Add(24 * time.Hour)
	w.foreign[w.set("info")] = true
	plan := decide.Decide(w.see())
	g.Expect(ready(plan.Status).Reason).To(Equal(workloadsv2.ReasonNameTaken))
	g.Expect(plan.RecheckAfter).To(BeNumerically("<", 2*time.Second))
	w.do(plan)
	g.Expect(decide.Decide(w.see()).RecheckAfter).To(BeNumerically("<", 2*time.Second))
}

func TestWhatWasBlockedIsUpToDateAfterwards(t *testing.T) {
	g := NewWithT(t)
	w := newWorld()
	w.use("storefront").Manager = "helm"
	g.Expect(meta.IsStatusConditionTrue(w.settle().Status.Conditions, workloadsv2.ConditionStalled)).To(BeTrue())
	w.workloads[0].Manager = ""
	status := w.settle().Status
	g.Expect(ready(status).Reason).To(Equal(workloadsv2.ReasonUpToDate))
	g.Expect(meta.FindStatusCondition(status.Conditions, workloadsv2.ConditionStalled)).To(BeNil(), "it is there only while it is True")
}

func TestAnAppConfigThatGoesNeedsNothing(t *testing.T) {
	g := NewWithT(t)
	w := newWorld()
	w.settle()
	s := w.see()
	s.AppConfig.DeletionTimestamp = new(metav1.NewTime(now))
	g.Expect(decide.Decide(s)).To(BeZero())
	g.Expect(decide.NeedsOf(s)).To(BeZero())
	g.Expect(decide.Decide(decide.Snapshot{})).To(BeZero())
}
