//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/critical-service/operator/test/document"
	"github.com/critical-service/operator/test/prober"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// loss is what an application loses, and what visitors see meanwhile.
type loss struct {
	// of is what is lost, in the words of the document.
	of string
	// strike takes it away, and returns when it is back.
	strike func()
	// crash: processes end without a word. Until the node has noticed, what is sent to them has no answer.
	crash bool
	// bystander: the application itself loses nothing.
	bystander bool

	seen []prober.Result
}

// TestAnApplicationMadeOfOneWebAppSurvives what it can lose, one after the other, and measures it. It is not parallel, as it
// takes both operators from all.
func TestAnApplicationMadeOfOneWebAppSurvives(t *testing.T) {
	w := newWebWorld(t)
	w.volumeFor("shop-db-data")
	app := w.webApp("shop", withDatabase, fixed(2), scaled(1000), func(s *workloadsv1.WebAppSpec) { s.DBSize, s.MinReplicas = "1Gi", 2 }).runs()
	app.becomes(2)
	d := app.database()
	d.write("first")
	losses := []*loss{
		{of: "all its Pods, deleted", strike: app.losePods},
		{of: "all its Pods, and none may be made until the page answers", strike: app.losePodsForLonger},
		{of: "all its Pods, their processes killed", strike: app.crash, crash: true},
		{of: "the Pod of its database, deleted", strike: d.losePod, bystander: true},
		{of: "the workloads operator, both replicas killed", strike: func() { w.kill(workloads) }, bystander: true},
		{of: "the first operator, both replicas killed", strike: func() { w.kill(core) }, bystander: true},
		{of: "both operators, and all its Pods", strike: func() {
			app.deletePods()
			w.kill(workloads)
			w.kill(core)
			app.becomes(2)
		}},
	}
	for _, l := range losses {
		l.seen = app.through(l)
		of := countAnswers(l.seen)
		t.Logf("%s: %+v", l.of, of)
		if l.bystander {
			w.Expect(of.application).To(Equal(of.requests), "answered by the application through the loss of %s: %+v", l.of, of)
		}
		if !l.crash {
			w.Expect(of.none).To(BeZero(), "without an answer through the loss of %s: %+v", l.of, of)
		}
		w.Expect(of.application).To(BeNumerically(">", 0))
	}
	d.holds("first")

	w.Expect(countAnswers(losses[1].seen).page).To(BeNumerically(">", 0), "the page stands in")
	text := survivalTable(losses)
	t.Log(text)
	if *update {
		w.Expect(document.Publish(webAppPage, "survival", text)).To(Succeed())
	}
}

// through is what visitors see from before a loss until the application runs as before.
func (a *webApp) through(l *loss) []prober.Result {
	a.t.Helper()
	ports := prober.LowPorts
	if l.crash {
		ports = prober.HighPorts
	}
	visitors := a.visitedFrom(ports)
	visitors.see(false)
	l.strike()
	visitors.see(false)
	a.runs()
	a.answers("/db", 200, "The database is ")
	return visitors.leave()
}

// deletePods deletes the Pods of the application, as `kubectl delete pods` does.
func (a *webApp) deletePods() {
	a.t.Helper()
	for _, pod := range a.pods(a) {
		a.remove(&pod)
	}
}

func (a *webApp) losePods() {
	a.t.Helper()
	a.deletePods()
	a.becomes(2)
}

// losePodsForLonger lets Kubernetes make no Pod, as where a namespace or its nodes have no room.
func (a *webApp) losePodsForLonger() {
	a.t.Helper()
	quota := a.forbid(corev1.ResourcePods)
	a.deletePods()
	a.Eventually(func(g Gomega) answer { return a.get(g, "/") }).Should(HaveField("Says", ContainSubstring(pageSentence)))
	a.remove(quota)
	a.Eventually(a.ready, 4*soon).Should(HaveLen(2), "Kubernetes waits longer after each refusal")
	a.becomes(2)
}

// crash ends all processes of all Pods of the application. They are started again by their node.
func (a *webApp) crash() {
	a.t.Helper()
	pods := a.pods(a)
	killProcesses(pods)
	a.Eventually(func(g Gomega) {
		for _, pod := range a.pods(g) {
			g.Expect(pod.Status.ContainerStatuses).To(ContainElement(HaveField("RestartCount", BeNumerically(">", 0))))
		}
	}).Should(Succeed(), "its containers start again")
	a.becomes(2)
}

func (d *database) losePod() {
	d.t.Helper()
	pod := d.pod()
	d.remove(pod)
	d.replaced(pod)
}

// survivalTable is what was measured, for the document.
func survivalTable(losses []*loss) string {
	text := &strings.Builder{}
	fmt.Fprintf(text, "Two Pods, MySQL with a volume, one node; %d requests per second, each on a new connection.\n\n", fewVisitors)
	fmt.Fprint(text, "| It loses | Requests | by the application | by the page | without an answer | longest gap | Answered |\n|---|---|---|---|---|---|---|\n")
	for _, l := range losses {
		of := countAnswers(l.seen)
		fmt.Fprintf(text, "| %s | %d | %d | %d | %d | %.2f s | %.2f %% |\n", l.of, of.requests, of.application, of.page, of.none,
			of.longest.Round(10*time.Millisecond).Seconds(), 100*float64(of.requests-of.none)/float64(of.requests))
	}
	return strings.TrimSuffix(text.String(), "\n")
}
