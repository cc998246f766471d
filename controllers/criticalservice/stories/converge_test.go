package stories_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// The same story is lived again and again; each time another write of the
// operator goes wrong. Every scene must be reached and the end must be the same.
func TestTheEndIsTheSameWhicheverWriteGoesWrong(t *testing.T) {
	whicheverWriteGoesWrong(t, 12, (*world).live)
}

// The same stories are lived by operators that see the cluster as it was, in another order, or with gaps.
func TestTheEndIsTheSameHoweverItIsSeen(t *testing.T) {
	t.Parallel()
	for story, live := range map[string]func(w *world, fate *testenv.Fate) string{
		"an outage":   (*world).live,
		"a denial":    (*world).denied,
		"standby":     (*world).standBy,
		"leaving":     (*world).leave,
		"a team":      (*world).serveTeam,
		"a self-test": (*world).selfTest,
		"a namespace": (*world).depart,
	} {
		t.Run(story, func(t *testing.T) {
			t.Parallel()
			testenv.HoweverItIsSeen(t, lived(live))
		})
	}
}

// whicheverWriteGoesWrong lives a story of at least so many writes again and again, beside other tests.
func whicheverWriteGoesWrong(t *testing.T, fewest int, live func(w *world, fate *testenv.Fate) string) {
	t.Helper()
	t.Parallel()
	testenv.WhicheverWriteGoesWrong(t, fewest, lived(live))
}

// lived is a story that is lived in a world of its own.
func lived(live func(w *world, fate *testenv.Fate) string) func(t *testing.T, fate *testenv.Fate) string {
	return func(t *testing.T, fate *testenv.Fate) string {
		t.Helper()
		return live(fated(t, fate), fate)
	}
}

// fated is a world in which a write may go wrong.
func fated(t *testing.T, fate *testenv.Fate) *world {
	t.Helper()
	if !fate.IsHappy() {
		return apart(t)
	}
	// The others wait for its end.
	turns.take(t, "apart")
	return alone(t)
}

// live lives one story, from before an outage into the next one, which begins while
// no operator runs, and describes the end.
func (w *world) live(fate *testenv.Fate) string {
	w.T.Helper()
	w.record(fate)
	w.startWith(func() testenv.Program { return w.confined(standard) }, fate)

	second := w.policy("b")
	service, real := w.up("web")
	w.Eventually(w.stateOf(second, service)).Should(Equal("Armed/EndpointsReady"))

	w.Delete(real)
	w.PublishEndpoints(service)
	w.answer(service, w.fallback(service))
	w.Eventually(w.stateOf(second, service)).Should(Equal("Covered/FallbackServing"))

	testenv.Update(w.World, service, func(s *corev1.Service) { s.Spec.Selector = map[string]string{"tier": "front"} })
	w.Eventually(func() map[string]string { return w.fallback(service).Labels }).Should(Equal(w.wantedLabels(service)))
	w.PublishEndpoints(service)

	first := w.policy("a")
	w.Eventually(func() bool { return metav1.IsControlledBy(w.fallback(service), first) }).Should(BeTrue())
	w.Eventually(w.stateOf(first, service)).Should(Equal("Covered/FallbackServing"))
	w.Eventually(w.stateOf(second, service)).Should(Equal("Ignored/Overridden"))

	real = w.recover(service)
	w.gone(service)
	w.PublishEndpoints(service)
	w.Eventually(w.stateOf(first, service)).Should(Equal("Armed/EndpointsReady"))
	w.Eventually(w.conditionOf(first, "Ready")).Should(Equal("True/Protected"))

	// The next outage begins while no operator runs.
	fate.Change(func() {
		w.stop()
		w.fail(service, real)
		w.resume()
	})
	w.answer(service, w.fallback(service))
	w.Eventually(w.stateOf(first, service)).Should(Equal("Covered/FallbackServing"))
	w.atRest(fate)
	return w.describe(first, second)
}

// startWith starts an operator that sees nothing of the stories beside it, and
// lets something befall its writes. If the operator dies of it, another one,
// which nothing befalls, takes its place.
func (w *world) startWith(program func() testenv.Program, fate *testenv.Fate) {
	w.T.Helper()
	next := program()
	fate.Follow(&next)
	w.replace = func() { w.stop(); w.start(next) }
	w.resume = func() {
		mortal := program()
		fate.Befall(&mortal)
		w.start(mortal)
	}
	w.resume()
	fate.Succeed(w.T, w.replace)
}

// atRest returns when the operator has come to rest.
func (w *world) atRest(fate *testenv.Fate) {
	w.T.Helper()
	fate.AwaitRest(w.World, w.replace, func() *testenv.Operator { w.settle(); return w.current() })
}

// describe says all about the end that is not chance: times, versions and the
// name of the world.
func (w *world) describe(policies ...criticalv2.Policy) string {
	w.T.Helper()
	var end struct {
		Pods     []map[string]any
		Policies []criticalv2.ProtectionStatus
	}
	var pods corev1.PodList
	w.Expect(w.Cluster.Client.List(w.T.Context(), &pods, client.InNamespace(w.Namespace))).To(Succeed())
	for _, pod := range pods.Items {
		// When the mounts of a responder's Pod are refreshed is the responder controller's to decide.
		delete(pod.Annotations, criticalv2.AnnotationContentVersion)
		end.Pods = append(end.Pods, map[string]any{"name": pod.Name, "labels": pod.Labels, "annotations": pod.Annotations})
	}
	for _, policy := range policies {
		status := w.statusOf(policy)
		for i := range status.Details {
			status.Details[i].Since = metav1.Time{}
		}
		for i := range status.Conditions {
			status.Conditions[i].LastTransitionTime = metav1.Time{}
		}
		for i := range status.Outages {
			outage := &status.Outages[i]
			outage.Began = metav1.MicroTime{}
			for _, at := range []*metav1.MicroTime{outage.Covered, outage.Ended} {
				if at != nil {
					*at = metav1.MicroTime{}
				}
			}
		}
		end.Policies = append(end.Policies, status)
	}
	text, err := yaml.Marshal(end)
	w.Expect(err).NotTo(HaveOccurred())
	return strings.ReplaceAll(string(text), w.Namespace, "WORLD")
}
