package stories_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice"
)

// A CriticalService may ask for another fallback in mid-outage. The one before
// answers until the next one does.
func TestATurnToAnotherFallbackLeavesNoGap(t *testing.T) {
	w := withResponder(t)
	w.template()
	w.spare("spare", "spare-1")
	w.start(w.complete())
	policy := w.policy("shop", toLabels)
	service, selected := w.covered("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	answered := w.watchThatItIsAnswered(service)

	w.turn(policy, toPage)
	w.Eventually(w.published(service)).Should(Equal("page: nothing"))
	w.look(service, func() {})
	w.Expect(w.fallback(service).Labels).To(HaveKeyWithValue("app", "web"), "it stays while nothing else answers")
	w.responder("responder-1")
	w.Eventually(w.published(service)).Should(Equal("page: responder-1 on http=20000, promoted"))
	w.Eventually(func() map[string]string { w.Exists(selected); return selected.Labels }).ShouldNot(HaveKey("app"))
	w.PublishEndpoints(service)
	w.gone(service)

	w.turn(policy, w.toPod(criticalv2.ActivationStandby))
	w.MakeReady(w.fallback(service))
	w.Eventually(w.published(service)).Should(Equal("podTemplate: service-watcher-web on http=8080, promoted"))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))

	w.turn(policy, toBackup("spare"))
	w.Eventually(w.published(service)).Should(Equal("service: spare-1 on http=8080, promoted"))
	w.gone(service)

	w.turn(policy, toLabels)
	w.answer(service, w.fallback(service))
	w.Eventually(w.published(service)).Should(BeEmpty())
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	answered()

	w.recover(service)
	w.gone(service)
}

// The page that stands in for another kind, until that can answer, follows the
// responder's Pods: they may be replaced meanwhile.
func TestAPageThatBridgesFollowsItsResponder(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(w *world) func(*criticalv2.CriticalService){
		"until a published Pod is ready": func(w *world) func(*criticalv2.CriticalService) { return w.toPod(criticalv2.ActivationOnDemand) },
		"until a selected Pod is ready":  func(*world) func(*criticalv2.CriticalService) { return toLabels },
		"until a backup is ready":        func(*world) func(*criticalv2.CriticalService) { return toBackup("spare") },
	} {
		t.Run(name, func(t *testing.T) {
			w := withResponder(t)
			w.template()
			w.start(w.complete())
			policy := w.policy("shop", toPage)
			service, real := w.armed(policy, "web")
			w.fail(service, real)
			w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
			w.look(service, func() { w.turn(policy, next(w)) })
			w.Expect(w.published(service)()).To(Equal("page: responder-1 on http=20000, promoted"))

			w.responder("responder-2")
			w.Delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "responder-1"}})
			w.Eventually(w.published(service)).Should(Equal("page: responder-2 on http=20000, promoted"))
		})
	}
}

// Version 1 asks for a Pod. Where its PodTemplate is missing the page stands in,
// and says so, until the template is there.
func TestAMissingTemplateIsStoodInForByThePage(t *testing.T) {
	w := withResponder(t)
	missing := func(o *criticalservice.Options) { o.Template.Namespace, o.Template.Name = w.Namespace, "missing" }
	w.start(w.complete(missing))
	policy := w.policy("shop", toLabels)
	service, real := w.up("web")
	w.responder("responder-1")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/TemplateNotFound"))
	w.Expect(w.published(service)()).To(Equal("page: responder-1 on http=20000, standby"))
	w.Eventually(w.conditionOf(policy, "FallbackReady")).Should(Equal("False/TemplateNotFound"))
	w.Eventually(w.conditionOf(policy, "Ready")).Should(Equal("True/Protected"))
	w.settle()

	before := len(w.requests())
	w.fail(service, real)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/TemplateNotFound"))
	w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
	w.Expect(w.since(before)[0]).To(Equal("PATCH " + w.podSlicePath(service)))
	w.Expect(w.fallbacks(service)).To(BeEmpty())
	answered := w.watchThatItIsAnswered(service)

	w.Create(newTemplate(types.NamespacedName{Namespace: w.Namespace, Name: "missing"}))
	fallback := w.fallback(service)
	w.look(service, func() {})
	w.Expect(w.published(service)()).To(HaveSuffix("promoted"), "the page answers until the Pod does")
	w.answer(service, fallback)
	w.Eventually(w.published(service)).Should(BeEmpty())
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.Eventually(w.conditionOf(policy, "FallbackReady")).Should(Equal("True/FallbackPrepared"))
	answered()

	w.recover(service)
	w.gone(service)
	w.PublishEndpoints(service)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))
}

// A backup that is not wanted any more answers until the next fallback does.
func TestABackupAnswersUntilTheNextFallbackDoes(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(w *world) func(*criticalv2.CriticalService){
		"which is a page":          func(*world) func(*criticalv2.CriticalService) { return toPage },
		"which is a published Pod": func(w *world) func(*criticalv2.CriticalService) { return w.toPod(criticalv2.ActivationOnDemand) },
		"which is a selected Pod":  func(*world) func(*criticalv2.CriticalService) { return toLabels },
		"which is another backup":  func(*world) func(*criticalv2.CriticalService) { return toBackup("other") },
	} {
		t.Run(name, func(t *testing.T) {
			w := withResponder(t)
			w.template()
			w.spare("spare", "spare-1")
			other := w.spare("other")
			w.start(w.complete())
			policy := w.policy("shop", toBackup("spare"))
			service := w.down("web")
			w.Eventually(w.published(service)).Should(Equal("service: spare-1 on http=8080, promoted"))
			answered := w.watchThatItIsAnswered(service)
			w.look(service, func() { w.turn(policy, next(w)) })
			answered()
			_ = other
		})
	}
}
