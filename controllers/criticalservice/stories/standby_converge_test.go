package stories_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice"
	"github.com/critical-service/operator/test/testenv"
)

// The same story of standbys is lived again and again; each time another write of
// the operator goes wrong. Every scene must be reached, the Service must be
// answered throughout, and the end must be the same.
func TestTheStandbyIsTheSameWhicheverWriteGoesWrong(t *testing.T) {
	whicheverWriteGoesWrong(t, 22, (*world).standBy)
}

// beginFated starts an operator of the story's own, which can make responders. Every write for Services may go wrong;
// what goes wrong in the responder's controller is for its own tests.
func (w *world) beginFated(fate *testenv.Fate, changes ...func(*criticalservice.Options)) {
	w.T.Helper()
	fate.Spares = isOfResponder
	w.withResponder()
	w.record(fate)
	w.startWith(func() testenv.Program { return w.complete(changes...) }, fate)
}

// standBy lives the story of a page, and of the Pod that takes its place, under an
// operator of its own, and describes the end.
func (w *world) standBy(fate *testenv.Fate) string {
	w.T.Helper()
	w.beginFated(fate)

	second := w.policy("b", toPage)
	service, real := w.armed(second, "web")
	w.fail(service, real)
	w.Eventually(w.stateOf(second, service)).Should(Equal("Covered/FallbackServing"))
	answered := w.watchThatItIsAnswered(service)

	w.template()
	first := w.policy("a", toPage)
	w.Eventually(func() bool { return metav1.IsControlledBy(w.existing(service), first) }).Should(BeTrue())
	w.Eventually(w.stateOf(second, service)).Should(Equal("Ignored/Overridden"))

	w.responder("responder-2")
	w.Eventually(w.published(service)).Should(HavePrefix("page: responder-1+responder-2 on"))
	w.Delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "responder-1"}})
	w.Eventually(w.published(service)).Should(Equal("page: responder-2 on http=20000, promoted"))

	w.turn(first, w.toPod(criticalv2.ActivationStandby))
	w.MakeReady(w.fallback(service))
	w.Eventually(w.published(service)).Should(Equal("podTemplate: service-watcher-web on http=8080, promoted"))
	w.Eventually(w.stateOf(first, service)).Should(Equal("Covered/FallbackServing"))

	w.recover(service)
	w.Eventually(w.published(service)).Should(HaveSuffix("standby"))
	w.Eventually(w.stateOf(first, service)).Should(Equal("Armed/StandbyReady"))
	answered()

	testenv.Update(w.World, service, func(s *corev1.Service) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, criticalv2.AnnotationCriticalService, criticalv2.OptOut)
	})
	w.Eventually(w.published(service)).Should(BeEmpty())
	w.gone(service)
	w.Eventually(w.stateOf(first, service)).Should(Equal("Ignored/OptedOut"))

	testenv.Update(w.World, service, func(s *corev1.Service) { s.Annotations = nil })
	w.MakeReady(w.fallback(service))
	w.Eventually(w.published(service)).Should(HaveSuffix("standby"))
	w.Eventually(w.stateOf(first, service)).Should(Equal("Armed/StandbyReady"))
	w.Eventually(w.conditionOf(first, "Ready")).Should(Equal("True/Protected"))
	w.atRest(fate)
	slice := w.existing(service)
	return fmt.Sprintln(w.published(service)(), slice.Labels, slice.Annotations, len(slice.OwnerReferences)) + w.describe(first, second)
}

// isOfResponder reports whether a request is one of the responder's controller.
func isOfResponder(r testenv.Request) bool {
	switch resource, _, _ := strings.Cut(r.Resource(), "/"); resource {
	case "endpointslices", "criticalservices", "servicefallbacks", "maintenances":
		return false
	case "pods":
		return strings.Contains(r.Path, "/responder-")
	default:
		return true
	}
}

// existing is the standby slice of a Service.
func (w *world) existing(service *corev1.Service) *discoveryv1.EndpointSlice {
	slice := w.slice(service)
	w.Exists(slice)
	return slice
}

// watchThatItIsAnswered watches all the EndpointSlices of a Service; what it
// returns ends the test if the Service ever was without a ready endpoint.
func (w *world) watchThatItIsAnswered(service *corev1.Service) func() {
	w.T.Helper()
	ctx, cancel := context.WithCancel(w.T.Context())
	known, seen, gaps := map[string]bool{}, false, []string{}
	// The object itself is the test's, which reads it again.
	name := service.Name
	ended := w.Follow(ctx, &discoveryv1.EndpointSliceList{}, func(event watch.Event) {
		slice, isSlice := event.Object.(*discoveryv1.EndpointSlice)
		if !isSlice {
			return
		}
		known[slice.Name] = event.Type != watch.Deleted && slice.Labels[discoveryv1.LabelServiceName] == name &&
			slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return ptr.Deref(e.Conditions.Ready, true) })
		answered := false
		for _, answers := range known {
			answered = answered || answers
		}
		// It begins with what there is, in any order.
		seen = seen || answered
		if seen && !answered {
			gaps = append(gaps, fmt.Sprintf("%s of EndpointSlice %q: %v", event.Type, slice.Name, slice.Endpoints))
		}
	})
	return func() {
		w.T.Helper()
		cancel()
		ended()
		w.Expect(seen).To(BeTrue(), "the Service was never answered")
		w.Expect(gaps).To(BeEmpty(), "the Service must be answered throughout")
	}
}
