//go:build e2e

package e2e

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/quota"
	"github.com/critical-service/operator/test/testenv"
)

func TestAQuotaThatDeniesTheFallback(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	match := labels{"critical": w.name("everywhere")}
	pod := w.pod("shop", labels{"app": "shop"})
	shop, elsewhere := w.service("shop", labelled(match)), other.service("shop", labelled(match))
	shop.answeredBy("shop")
	quota := w.quota(0)
	policy := w.policy(w.name("everywhere"), "", match)
	shop.policy, elsewhere.policy = policy, policy

	// It is known before the outage.
	shop.becomes(criticalv2.StateArming, criticalv2.ReasonCreateDenied, "exceeded quota", quota.Name)

	// In the outage the warning says what to do, and no other Service suffers.
	w.remove(pod)
	shop.becomes(criticalv2.StateExposed, criticalv2.ReasonCreateDenied, "exceeded quota", quota.Name)
	shop.condition(criticalv2.ConditionFallbackReady, metav1.ConditionFalse, criticalv2.ReasonCreateDenied, "exceeded quota", "quota")
	shop.condition(criticalv2.ConditionOutage, metav1.ConditionTrue, criticalv2.ConditionReasonExposed, "shop")
	elsewhere.covered()
	shop.staysWithoutFallback()
	w.Eventually(w.warnings("Service", "shop", criticalv2.ReasonCreateDenied)).Should(And(
		HaveLen(2), HaveEach(And(ContainSubstring("exceeded quota"), ContainSubstring("Allow it"))),
	), "one warning when it was known, one when the outage began, and not one per try")

	// When the cause is gone, the operator goes on by itself.
	w.remove(quota)
	shop.covered()
	shop.condition(criticalv2.ConditionFallbackReady, metav1.ConditionTrue, criticalv2.ConditionReasonFallbackPrepared)
}

// quota allows so many Pods in the scenario's namespace, those that are there included.
func (w *world) quota(pods int64) *corev1.ResourceQuota {
	w.t.Helper()
	few := quota.New(w.namespace, "few-pods", corev1.ResourcePods, pods)
	w.create(few)
	w.Eventually(quota.InForce).WithArguments(w.ctx, w.Client, few).Should(Succeed())
	return few
}

func TestAQuotaThatTheApplicationFillsIsFreeWhenItsPodsAreGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pod := w.pod("shop", labels{"app": "shop"})
	shop := w.service("shop")
	shop.answeredBy("shop")
	w.quota(1)
	shop.critical().becomes(criticalv2.StateArming, criticalv2.ReasonCreateDenied, "exceeded quota")

	// What was refused while the Service was well must not hold up the fallback when it is needed.
	w.remove(pod)
	w.Eventually(func() bool { return testenv.Gone(w.ctx, w.Client, pod) }).Should(BeTrue())
	const soon = 30 * time.Second // In an outage the API server is asked again every five seconds at least.
	w.Eventually(shop.fallbacks, soon).Should(HaveLen(1))
	shop.covered()
}

func TestNamespaceServiceAndCriticalServiceAppliedInOneGo(t *testing.T) {
	t.Parallel()
	w := worldIn(t, "e2e-in-one-go-"+utilrand.String(5))
	// A new namespace denies every Pod until Kubernetes has made its service account.
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
	w.reportFailure()
	shop := w.service("shop").critical()
	w.Eventually(shop.fallbacks).Should(HaveLen(1))
	shop.covered()
}

func TestPodSecurityThatDeniesTheFallback(t *testing.T) {
	t.Parallel()
	const enforce = "pod-security.kubernetes.io/enforce"
	w, other := newWorld(t, labels{enforce: "restricted"}), newWorld(t)
	shop, elsewhere := w.service("shop").critical(), other.service("shop").critical()

	shop.becomes(criticalv2.StateExposed, criticalv2.ReasonCreateDenied, "violates PodSecurity")
	shop.condition(criticalv2.ConditionFallbackReady, metav1.ConditionFalse, criticalv2.ReasonCreateDenied, "violates PodSecurity")
	w.Eventually(w.warnings("Service", "shop", criticalv2.ReasonCreateDenied)).Should(
		HaveExactElements(And(ContainSubstring("violates PodSecurity"), ContainSubstring("fix the PodTemplate"))))
	elsewhere.covered()

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	change(w, namespace, func(n *corev1.Namespace) { delete(n.Labels, enforce) })
	shop.covered()
}
