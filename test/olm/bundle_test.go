//go:build e2e

package olm

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
)

// limit is what operator-sdk gets as its own time limit.
const limit = "6m"

// TestABundleIsTriedAndJudged is what a developer or reviewer of the bundle does: make run-bundle builds
// it and has operator-sdk run it without a catalog; operator-sdk upgrades it and judges it by scorecard,
// and make cleanup-bundle removes it. The namespace is not restricted, because operator-sdk's own Pods
// are not fit for that.
func TestABundleIsTriedAndJudged(t *testing.T) {
	w := newWorld(t, bundleHome, nil)
	var shop *service
	var forgetScorecard func()

	w.stage("run-bundle builds and installs the previous version", func() {
		w.runBundle("up")
		w.succeeds(previous)
	})
	w.stage("run bundle-upgrade upgrades it", func() {
		w.operatorSDKSucceeds("run", "bundle-upgrade", current.bundleImage(), "--namespace", w.operator, "--timeout", limit)
		w.succeeds(current)
		shop = w.service("shop").withPage().becomes(criticalv2.StateArmed)
		shop.standsIn(thePage).recovers()
	})
	w.stage("scorecard finds nothing to fix", func() {
		forgetScorecard = w.scorecardAccount(firstJudged)
		w.findsNothing(firstJudged, "armed")
	})
	w.stage("scorecard finds an operator whose responders do not run", func() {
		w.configure(corev1.EnvVar{Name: "RESPONDER_IMAGE", Value: registry + "operator:none"})
		results := w.scorecard(firstJudged, w.impatient(), "--selector", "suite=custom,test in (armed,outage,recovery,conversion)")
		for _, name := range []string{"armed", "outage", "recovery"} {
			w.Expect(results).To(HaveKey(name))
			w.Expect(results[name].State).To(Equal(v1alpha3.FailState), "%s\n%s", name, results[name].Log)
			w.Expect(results[name].Errors).NotTo(BeEmpty(), name)
			w.Expect(results[name].Suggestions).NotTo(BeEmpty(), name)
		}
		// It still converts: a test tells what is broken from what is not.
		w.Expect(results["conversion"].State).To(Equal(v1alpha3.PassState), "%v", results["conversion"].Errors)
	})
	w.stage("cleanup-bundle leaves nothing", func() {
		w.runBundle("down")
		w.Eventually(w.gone(customResources())).Should(BeTrue())
		shop.closes()
		forgetScorecard()
		w.leavesNothing(w.sweepUp)
	})
}

// configure changes the settings of the operator in its Subscription, and waits until it has them.
func (w *world) configure(set corev1.EnvVar) {
	w.t.Helper()
	var subscriptions v1alpha1.SubscriptionList
	w.Expect(w.List(w.ctx, &subscriptions, client.InNamespace(w.operator))).To(Succeed())
	w.Expect(subscriptions.Items).To(HaveLen(1))
	change(w, &subscriptions.Items[0], func(s *v1alpha1.Subscription) {
		s.Spec.Config = &v1alpha1.SubscriptionConfig{Env: []corev1.EnvVar{set}}
	})
	w.Eventually(func(g Gomega) {
		done, state, err := w.DeploymentAvailable(w.ctx, keyOf(w.operator, deploymentName))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(done).To(BeTrue(), state)
		for _, pod := range w.operatorPods(g) {
			g.Expect(pod.Spec.Containers[0].Env).To(ContainElement(set))
			g.Expect(cluster.PodReady(&pod)).To(BeTrue())
		}
	}).WithTimeout(installLimit).Should(Succeed(), "the operator has the setting %s=%s", set.Name, set.Value)
}
