package database_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

func TestAServiceIsBornProtected(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.database()
	w.Eventually(w.Exists).WithArguments(w.service(d)).Should(BeTrue())
	made := w.fallback(d)
	w.Expect(w.Exists(made)).To(BeTrue())
	w.Expect(w.written()[:2]).To(Equal([]string{"servicefallbacks", "services"}), "it comes before the Service")
	w.Expect(made.Spec.Services).To(Equal([]string{"mongo-db"}))
	w.Expect(made.Spec.Fallback.Page).NotTo(BeNil())
	w.Expect(metav1.IsControlledBy(made, d)).To(BeTrue())
	for _, managed := range made.ManagedFields {
		w.Expect(managed.Manager).To(Equal("critical-service-workloads"))
	}
	w.Eventually(w.protected(d)).Should(Equal(workloadsv1.ReasonFallbackPending))
	w.cores(d, criticalv2.StateArming, criticalv2.ReasonResponderFailing)
	w.Eventually(w.protected(d)).Should(Equal(criticalv2.ReasonResponderFailing))
	w.cores(d, criticalv2.StateArmed, criticalv2.ReasonStandbyReady)
	w.Eventually(w.protected(d)).Should(Equal(criticalv2.ReasonStandbyReady))
	w.Expect(w.condition(d, workloadsv1.ConditionProtected).Status).To(Equal(metav1.ConditionTrue))
}

// written are the resources of the operator's writes, in their order.
func (w *world) written() []string {
	var resources []string
	for _, r := range w.writes() {
		resources = append(resources, r.Resource())
	}
	return resources
}

// At a cold start the watch may fill late, or not at all while the list fails.
func TestAServiceIsBornProtectedBeforeTheWatchIsFull(t *testing.T) {
	w := newWorld(t)
	var lost atomic.Int32
	w.start(func(r testenv.Request) testenv.Verdict {
		if r.Method == http.MethodGet && strings.HasSuffix(r.Path, "/servicefallbacks") {
			lost.Add(1)
			return testenv.Lose
		}
		return testenv.Pass
	})
	d := w.running()
	w.Expect(lost.Load()).To(BeNumerically(">", 0), "the list fails")
	w.Expect(w.written()[:2]).To(Equal([]string{"servicefallbacks", "services"}))
	w.Eventually(w.protected(d)).Should(Equal(workloadsv1.ReasonFallbackPending))
}

func TestAServiceWaitsForItsFallbackAndNothingElseDoes(t *testing.T) {
	w := newWorld(t)
	var passes atomic.Bool
	w.start(func(r testenv.Request) testenv.Verdict {
		if r.Method == http.MethodPatch && r.Resource() == "servicefallbacks" && !passes.Load() {
			return testenv.Lose
		}
		return testenv.Pass
	})
	d := w.database()
	w.Eventually(w.Exists).WithArguments(w.pod(d)).Should(BeTrue())
	w.Expect(w.Exists(w.service(d))).To(BeFalse())
	passes.Store(true)
	w.Eventually(w.Exists).WithArguments(w.service(d)).Should(BeTrue())
	w.Expect(w.Exists(w.fallback(d))).To(BeTrue())
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonStarting))
}

// A quota of the namespace must not keep a database from running.
func TestADatabaseRunsWithoutAFallbackThatIsRefused(t *testing.T) {
	w := newWorld(t)
	quota := w.Forbid("count/servicefallbacks.mycrd.com")
	w.start()
	d := w.running()
	w.Eventually(w.protected(d)).Should(Equal(workloadsv1.ReasonCreateDenied))
	w.Expect(w.condition(d, workloadsv1.ConditionProtected).Message).To(ContainSubstring("exceeded quota"))
	w.Expect(w.Exists(w.service(d))).To(BeTrue())
	w.Delete(quota)
	w.Eventually(w.Exists).WithArguments(w.fallback(d)).Should(BeTrue(), "no watch reports that it is gone")
}

func TestWithoutTheCoreADatabaseRuns(t *testing.T) {
	w := newWorld(t)
	w.core.available = false
	w.start()
	d := w.running(withStorage)
	w.Eventually(w.protected(d)).Should(Equal(workloadsv1.ReasonFallbackUnavailable))
	w.Expect(w.condition(d, workloadsv1.ConditionProtected).Message).To(ContainSubstring("install critical-service-operator"))
	w.Expect(w.Exists(w.fallback(d))).To(BeFalse())

	w.core.is(true)
	w.Eventually(w.Exists).WithArguments(w.fallback(d)).Should(BeTrue(), "it came while the operator ran")
	w.cores(d, criticalv2.StateArmed, criticalv2.ReasonStandbyReady)
	w.Eventually(w.protected(d)).Should(Equal(criticalv2.ReasonStandbyReady))

	w.core.is(false)
	w.Eventually(w.protected(d)).Should(Equal(workloadsv1.ReasonFallbackUnavailable), "and went")
	w.Expect(w.ready(d)()).To(Equal(workloadsv1.ReasonRunning))
	w.core.is(true)
	w.Eventually(w.protected(d)).Should(Equal(criticalv2.ReasonStandbyReady))
}

func TestAFallbackFollowsTheSpec(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.running(func(d *workloadsv1.Database) {
		d.Spec.Fallback = &workloadsv1.ServiceProtection{Page: &criticalv2.PageFallback{Message: "We move house."}}
	})
	fallback := func() criticalv2.Fallback {
		made := w.fallback(d)
		if !w.Exists(made) {
			return criticalv2.Fallback{}
		}
		return made.Spec.Fallback
	}
	w.Eventually(func() string {
		if page := fallback().Page; page != nil {
			return page.Message
		}
		return ""
	}).Should(Equal("We move house."))
	testenv.Update(w.World, d, func(d *workloadsv1.Database) {
		d.Spec.Fallback = &workloadsv1.ServiceProtection{Service: &criticalv2.BackupFallback{Name: "replica"}}
	})
	w.Eventually(func() *criticalv2.BackupFallback { return fallback().Service }).ShouldNot(BeNil())
	w.Expect(fallback().Page).To(BeNil())
	testenv.Update(w.World, d, func(d *workloadsv1.Database) {
		d.Spec.Fallback = &workloadsv1.ServiceProtection{None: &workloadsv1.NoFallback{}}
	})
	w.Eventually(w.protected(d)).Should(Equal(workloadsv1.ReasonFallbackNone))
	w.Eventually(w.Exists).WithArguments(w.fallback(d)).Should(BeFalse())
	testenv.Update(w.World, d, func(d *workloadsv1.Database) { d.Spec.Fallback = nil })
	w.Eventually(func() *criticalv2.PageFallback { return fallback().Page }).ShouldNot(BeNil())
	w.Expect(fallback().Page.Message).To(BeEmpty())
}

func TestAServiceFallbackOfATeamIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	theirs := w.fallback(&workloadsv1.Database{ObjectMeta: metav1.ObjectMeta{Name: "mongo-db"}})
	theirs.Spec.Services = []string{"mongo-db"}
	theirs.Spec.Fallback.Page = &criticalv2.PageFallback{}
	w.Create(theirs)
	w.start()
	d := w.running()
	w.Eventually(w.protected(d)).Should(Equal(workloadsv1.ReasonNameTaken))
	kept := w.fallback(d)
	w.Expect(w.Exists(kept)).To(BeTrue())
	w.Expect(kept.ResourceVersion).To(Equal(theirs.ResourceVersion))
}
