//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	. "github.com/onsi/gomega/gstruct"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// drilled is the result of a drill, its exit code, and its messages.
func (s *service) drilled(arguments ...string) (code int, result drillResult, stderr string) {
	s.t.Helper()
	code, stdout, stderr := s.runPlugin(append([]string{"drill", "svc/" + s.object.Name, "-o", "json"}, arguments...)...)
	if code != exitError {
		s.Expect(json.Unmarshal([]byte(stdout), &result)).To(Succeed(), "%s%s", stdout, stderr)
	}
	return code, result, stderr
}

func (w *world) noDrillPods() {
	w.t.Helper()
	w.Eventually(func(g Gomega) []corev1.Pod {
		return w.podsWith(g, labels{"app.kubernetes.io/name": "critical-service-drill"})
	}).Should(BeEmpty(), "Pods of drills")
}

// twoPorts is a Service with a web server and a database.
func twoPorts(s *corev1.Service) {
	s.Spec.Ports = []corev1.ServicePort{
		{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)},
		{Name: "db", Port: 5432, TargetPort: intstr.FromInt32(8080), AppProtocol: new("postgresql")},
	}
}

func TestADrillAsksWhatStandsByOnEveryPort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployment("shop")
	shop := w.service("shop", twoPorts).withPage()
	shop.ready()
	shop.answeredBy("shop")

	var result drillResult
	// A moment after the state, the responder may still read its new table.
	w.Eventually(func() int {
		var code int
		code, result, _ = shop.drilled("--tries=3")
		return code
	}).Should(Equal(0))
	w.Expect(result.Good).To(BeTrue())
	w.Expect(result.Live).To(BeNil())
	w.Expect(result.DryRun.Endpoints).To(ConsistOf(
		MatchFields(IgnoreExtras, Fields{
			"Port": Equal("http"), "Protocol": Equal("http"), "Status": Equal("503"), "Answered": Equal(3), "Tries": Equal(3),
			"Title": Not(BeEmpty()), "P50Milliseconds": BeNumerically(">", 0), "MaxMilliseconds": BeNumerically(">", 0),
		}),
		MatchFields(IgnoreExtras, Fields{
			"Port": Equal("db"), "Protocol": Equal("postgresql"), "Status": Equal("57P03"), "Answered": Equal(3), "Line": ContainSubstring(pageSentence),
		}),
	))
	shop.answeredBy("shop")
	w.noDrillPods()

	_, text, _ := w.runPlugin("drill", "svc/shop", "--tries=1")
	t.Log(text)
	w.Expect(text).To(HaveSuffix("Everything that stands by answers.\n"))
}

func TestADrillReportsWhatDoesNotStandBy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployment("shop")
	shop := w.service("shop").critical()
	shop.armed("shop")
	code, result, _ := shop.drilled()
	w.Expect(code).To(Equal(exitNo))
	w.Expect(result.DryRun.Problems).To(ConsistOf(ContainSubstring("nothing stands by for port 80")))

	// Its backup's Pods are ready, and do not listen there.
	w.deployment("spare")
	w.service("spare", dialling(9999))
	other := w.service("other", func(s *corev1.Service) { s.Spec.Selector = labels{"app": "shop"} }).
		withFallback(criticalv2.Fallback{Service: &criticalv2.BackupFallback{Name: "spare"}})
	other.ready()
	code, result, _ = other.drilled("--tries=1")
	w.Expect(code).To(Equal(exitNo))
	w.Expect(result.DryRun.Endpoints).To(ConsistOf(HaveField("Problem", ContainSubstring("refused the connection"))))
	w.noDrillPods()
}

func TestALiveDrillMeasuresARealOutage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shop := w.application(outages["scaled to zero"])
	shop.withPage()
	shop.ready()

	// It is refused without a yes, and nothing is done.
	code, _, stderr := shop.drilled("--live", "--tries=1")
	w.Expect(code).To(Equal(exitError))
	w.Expect(stderr).To(ContainSubstring("not confirmed"))
	shop.ready()

	code, result, stderr := shop.drilled("--live", "--yes", "--for=15s", "--max-gap=20s", "--tries=2")
	w.Expect(result.Live).NotTo(BeNil(), stderr)
	t.Logf("%+v", *result.Live)
	w.Expect(code).To(Equal(0), "%v %s", result.Live.Problems, stderr)
	w.Expect(result.Live.Recovered).To(BeTrue())
	w.Expect(result.Live.Ports).To(HaveLen(1))
	measured := result.Live.Ports[0]
	w.Expect(measured.Distinct).To(BeTrue())
	w.Expect(measured.ByFallback).To(BeNumerically(">", 10))
	w.Expect(measured.ByApplication).To(BeNumerically(">", 10))
	w.Expect(measured.FallbackAfterMilliseconds).NotTo(BeNil())
	w.Expect(measured.ApplicationAfterMilliseconds).NotTo(BeNil())
	w.Expect(measured.LongestGapMilliseconds).To(BeNumerically("<", 20*time.Second.Milliseconds()))

	shop.standsBy("shop")
	w.refresh(shop.deployment)
	w.Expect(shop.deployment.Spec.Replicas).To(HaveValue(BeEquivalentTo(2)), "what was there before")
	w.noDrillPods()
	w.Eventually(func(g Gomega) {
		g.Expect(printed[past](w, g, "history", "svc/shop").Outages).To(HaveExactElements(HaveField("Cause", HaveField("Reason", criticalv2.CauseDrill))))
	}).Should(Succeed(), "the history names the drill")

	// While the fallback answers, no other outage may be made.
	w.scale(shop.deployment, 0)
	shop.standsIn(thePage)
	code, _, stderr = shop.drilled("--live", "--yes")
	w.Expect(code).To(Equal(exitError))
	w.Expect(stderr).To(ContainSubstring("is Covered"))
}

func TestALiveDrillThatIsInterruptedGivesTheApplicationBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shop := w.application(outages["scaled to zero"])
	shop.withPage()
	shop.ready()

	interrupted, interrupt := context.WithCancel(w.ctx)
	defer interrupt()
	run := *w
	run.ctx = interrupted
	ended := make(chan int, 1)
	go func() {
		code, _, stderr := run.runPlugin("drill", "svc/shop", "--live", "--yes", "--for=10m", "--tries=1")
		t.Log(stderr)
		ended <- code
	}()
	replicas := func(g Gomega) int32 {
		deployment := shop.deployment.DeepCopy()
		g.Expect(w.Get(w.ctx, client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
		return *deployment.Spec.Replicas
	}
	w.Eventually(replicas).Should(BeZero(), "the application is away")
	interrupt()
	w.Eventually(ended).Should(Receive(Equal(exitError)))
	w.Eventually(replicas).Should(BeEquivalentTo(2))
	w.noDrillPods()
	shop.standsBy("shop")
}
