//go:build e2e

package e2e

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
	"github.com/critical-service/operator/test/prober"
)

// That Pods exist says nothing: only a ready endpoint answers.

func TestAPodThatRunsButIsNeverReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shop := w.service("shop").critical()
	app := w.deployment("shop", "--never-ready")

	fallback := shop.covered()
	w.Eventually(w.podsRunning("app", "shop")).Should(Equal(2), "the application's Pod and the fallback")
	shop.keeps(fallback)

	stop := shop.probe()
	change(w, app, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Args = []string{"web", "--name=shop"} })
	shop.armed("shop")
	w.Expect(prober.Summarise(stop())).To(And(
		HaveField("Answered", HaveKey("shop")),
		HaveField("LongestGap", BeNumerically("<", 200*time.Millisecond)),
	), "the fallback leaves without a gap, although its server stops as soon as it is asked to")
}

func TestAPodThatCrashesAgainAndAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shop := w.service("shop").critical()
	crashing := w.pod("shop", labels{"app": "shop"}, "--crash-after=0s")

	fallback := shop.covered()
	w.Eventually(func() int32 {
		w.refresh(crashing)
		if len(crashing.Status.ContainerStatuses) == 0 {
			return 0
		}
		return crashing.Status.ContainerStatuses[0].RestartCount
	}).Should(BeNumerically(">=", 2), "restarts of the application")
	shop.keeps(fallback)
	shop.answeredBy(fallbackName)
	w.Expect(cluster.PodReady(crashing)).To(BeFalse())

	w.remove(crashing)
	w.pod("shop-fixed", labels{"app": "shop"})
	shop.armed("shop-fixed")
}

func TestAFallbackPodThatAUserDeletesComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shop := w.service("shop").critical()
	first := shop.covered()

	w.remove(first)
	w.Eventually(shop.fallbacks).Should(HaveExactElements(Not(HaveField("UID", first.UID))))
	second := shop.covered()
	w.Expect(second.UID).NotTo(Equal(first.UID))
	w.Expect(second.Name).To(Equal(first.Name))
}

func TestTheFallbackIsMadeOnlyWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployment("shop")
	shop := w.service("shop")
	shop.answeredBy("shop")
	shop.critical()
	shop.becomes(criticalv2.StateArmed, criticalv2.ReasonEndpointsReady)
	shop.staysWithoutFallback()
}

func (w *world) podsRunning(key, value string) func(g Gomega) int {
	return func(g Gomega) int {
		running := 0
		for _, pod := range w.podsWith(g, labels{key: value}) {
			if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
				running++
			}
		}
		return running
	}
}
