package stories_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// spare makes a backup Service, whose Pods listen on 8080, with Pods that are ready.
func (w *world) spare(name string, pods ...string) *corev1.Service {
	w.T.Helper()
	service := w.Service(name)
	for _, pod := range pods {
		w.MakeReady(w.Pod(pod, service))
	}
	w.PublishEndpoints(service)
	return service
}

// The standby is in step with the backup, before an outage and in it.
func TestABackupIsFollowed(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toBackup("spare"))
	service, real := w.up("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Arming/BackupNotFound"))
	w.Eventually(w.conditionOf(policy, "FallbackReady")).Should(Equal("False/BackupNotFound"))

	spare := w.spare("spare")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Arming/BackupNotReady"))
	one := w.Pod("spare-1", spare)
	w.MakeReady(one)
	w.PublishEndpoints(spare)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
	w.Expect(w.published(service)()).To(Equal("service: spare-1 on http=8080, standby"))
	w.Expect(w.existing(service).Endpoints[0].TargetRef.UID).To(Equal(one.UID))

	two := w.Pod("spare-2", spare)
	w.MakeReady(two)
	w.PublishEndpoints(spare)
	w.Eventually(w.published(service)).Should(Equal("service: spare-1+spare-2 on http=8080, standby"))
	w.settle()

	before := len(w.requests())
	w.fail(service, real)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.Expect(w.since(before)[0]).To(Equal("PATCH " + slicePath(w.slice(service))))
	w.Expect(w.published(service)()).To(Equal("service: spare-1+spare-2 on http=8080, promoted"))
	w.Expect(w.fallbacks(service)).To(BeEmpty())

	w.MakeUnready(one)
	w.PublishEndpoints(spare)
	w.Eventually(w.published(service)).Should(Equal("service: spare-2 on http=8080, promoted"))
	w.Delete(two)
	w.PublishEndpoints(spare)
	w.Eventually(w.published(service)).Should(Equal("service: nothing"), "a dead endpoint is none")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Exposed/BackupNotReady"))

	w.MakeReady(one)
	w.PublishEndpoints(spare)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.UnpublishEndpoints(spare)
	w.Delete(spare)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Exposed/BackupNotFound"))
	w.Eventually(w.published(service)).Should(Equal("service: nothing"))

	w.recover(service)
	w.spare("spare", "spare-3")
	w.Eventually(w.published(service)).Should(Equal("service: spare-1+spare-3 on http=8080, standby"))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
}

// What the operator publishes for one Service is passed on to no other.
func TestServicesThatBackEachOtherUpAreNoLoop(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	left, right := w.policy("a", toBackup("right")), w.policy("b", toBackup("left"), of("right"))
	one, first := w.up("left")
	two, second := w.up("right", role(w, "right"))
	w.Eventually(w.published(one)).Should(Equal("service: right-real on http=8080, standby"))
	w.Eventually(w.published(two)).Should(Equal("service: left-real on http=8080, standby"))

	w.fail(one, first)
	w.Eventually(w.published(one)).Should(Equal("service: right-real on http=8080, promoted"))
	w.Eventually(w.published(two)).Should(Equal("service: nothing"), "it gets nothing of its own back")
	w.Eventually(w.stateOf(left, one)).Should(Equal("Covered/FallbackServing"))
	w.Eventually(w.stateOf(right, two)).Should(Equal("Arming/BackupNotReady"))

	w.fail(two, second)
	w.Eventually(w.stateOf(left, one)).Should(Equal("Exposed/BackupNotReady"))
	w.Eventually(w.stateOf(right, two)).Should(Equal("Exposed/BackupNotReady"))
	w.Eventually(w.published(one)).Should(Equal("service: nothing"))
	w.Eventually(w.published(two)).Should(Equal("service: nothing"))

	w.recover(two)
	w.Eventually(w.stateOf(left, one)).Should(Equal("Covered/FallbackServing"))
}

// A backup that is covered itself, by a page or a Pod, lends that to no other Service.
func TestABackupThatIsDownLendsNothing(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]func(w *world) func(*criticalv2.CriticalService){
		"that a page covers":          func(*world) func(*criticalv2.CriticalService) { return toPage },
		"that a published Pod covers": func(w *world) func(*criticalv2.CriticalService) { return w.toPod(criticalv2.ActivationOnDemand) },
		"that a selected Pod covers":  func(*world) func(*criticalv2.CriticalService) { return toLabels },
	} {
		t.Run(name, func(t *testing.T) {
			w := withResponder(t)
			w.template()
			w.start(w.complete())
			policy, ofSpare := w.policy("a", toBackup("spare")), w.policy("b", kind(w), of("spare"))
			spare := w.down("spare", role(w, "spare"))
			service := w.down("web")
			if ofSpare.Spec.Fallback.Page != nil {
				w.responder("responder-1")
			} else {
				w.answer(spare, w.fallback(spare))
			}
			w.Eventually(w.stateOf(ofSpare, spare)).Should(Equal("Covered/FallbackServing"))
			w.look(service, func() {})
			w.Eventually(w.stateOf(policy, service)).Should(Equal("Exposed/BackupNotReady"))
			w.Eventually(w.published(service)).Should(Equal("service: nothing"))
		})
	}
}

func TestAServiceThatIsItsOwnBackupHasNone(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toBackup("web"))
	service, _ := w.up("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Arming/BackupUnsuitable"))
	w.Eventually(w.published(service)).Should(Equal("service: nothing"))
	w.settle()
	w.Expect(w.published(service)()).To(Equal("service: nothing"))
}
