//go:build e2e

package e2e

import (
	"testing"

	. "github.com/onsi/gomega"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// The plugin reports an outage from its beginning to its end: what is down, why, what answers, and
// afterwards how long it took.
func TestThePluginReportsAnOutage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	application := w.deployment("shop")
	shop := w.service("shop").withPage()
	shop.ready()

	w.Eventually(func(g Gomega) {
		before := printed[explanation](w, g, "explain", "svc/shop")
		g.Expect(before.Status).To(HaveField("State", criticalv2.StateArmed))
		g.Expect(before.Governor).To(HaveField("Name", shop.policy.GetName()))
		g.Expect(before.Answers.By).To(Equal("application"))
		g.Expect(before.Next).To(ContainSubstring("The fallback would answer at once: Pod critical-service-responder"))
		g.Expect(before.Ports).To(ConsistOf(HaveField("FallbackPort", BeNumerically(">", 0))))
		g.Expect(before.Cause).To(BeNil())
		// The self-test has been answered, and both commands say so of this Service.
		g.Expect(before.Failover).To(HaveField("Status", "True"))
		_, table, _ := w.runPlugin("status")
		g.Expect(table).To(MatchRegexp(`(?m)^shop +Armed +\S+ +[1-9]\d*/\d+ +page +yes +-`))
	}).Should(Succeed())

	w.scale(application, 0)
	shop.becomes(criticalv2.StateCovered, criticalv2.ReasonFallbackServing)
	w.Eventually(func(g Gomega) {
		view := printed[listing](w, g, "status")
		g.Expect(view.Services).To(ConsistOf(And(
			HaveField("Name", "shop"), HaveField("State", criticalv2.StateCovered), HaveField("Endpoints.Ready", 0),
			HaveField("Fallback.Kind", criticalv2.FallbackKindPage),
			HaveField("Cause", HaveField("Reason", criticalv2.CauseScaledToZero)),
		)))
		during := printed[explanation](w, g, "explain", "svc/shop")
		g.Expect(during.Answers.By).To(Equal("fallback"))
		g.Expect(during.Cause).To(And(HaveField("Reason", criticalv2.CauseScaledToZero), HaveField("By", "operator")))
		g.Expect(during.Events).To(ContainElement(HaveField("Reason", "FallbackPromoted")))
	}).Should(Succeed())
	_, table, words := w.runPlugin("status")
	w.Expect(table).To(MatchRegexp(`(?m)^shop +Covered +\S+ +0/\d+ +page +(yes|\?) +\S`))
	w.Expect(words).To(ContainSubstring("Down, and the fallback answers: " + w.namespace + "/shop."))

	w.scale(application, 1)
	shop.standsBy("shop")
	w.Eventually(func(g Gomega) {
		history := printed[past](w, g, "history", "svc/shop")
		g.Expect(history.Outages).To(HaveLen(1), "that the application had to start first is no outage")
		g.Expect(history.Outages[0]).To(And(
			HaveField("Ended", Not(BeNil())), HaveField("Fallback", criticalv2.FallbackKindPage),
			HaveField("DurationSeconds", BeNumerically(">", 0)), HaveField("TimeToCoverSeconds", Not(BeNil())),
			HaveField("Cause", HaveField("Reason", criticalv2.CauseScaledToZero)),
		))
	}).Should(Succeed())
}

// With an operator that does not run, the plugin still says what answers, and looks for the cause
// itself: see its own tests. Here: a Service that is not protected.
func TestThePluginSaysWhatAnUnprotectedServiceLacks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployment("shop")
	w.service("shop").withPage().ready()
	w.deployment("other")
	w.service("other")

	w.Eventually(func(g Gomega) {
		view := printed[explanation](w, g, "explain", "svc/other")
		g.Expect(view.Governor).To(BeNil())
		g.Expect(view.Protected).To(BeFalse())
		g.Expect(view.Nearest).NotTo(BeEmpty())
		g.Expect(view.Answers.By).To(Equal("application"))
	}).Should(Succeed())
	code, _, words := w.runPlugin("status", "svc/other")
	w.Expect(code).To(Equal(exitNo))
	w.Expect(words).To(ContainSubstring("kubectl critsvc explain svc/other"))
}
