//go:build e2e

package e2e

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
	"github.com/critical-service/operator/test/cluster"
	"github.com/critical-service/operator/test/prober"
)

// Responder Pods are replaced while no operator runs. These scenarios are not parallel, as all share
// the operator.

// standsStill is how long a rollout is watched that must not go on: longer than the seconds for which a
// Pod must be ready (5), and those in which an old one would drain and end (20).
const standsStill = 30 * time.Second

// rolled is a Service whose page is all that answers, and the Pods that serve it.
type rolled struct {
	*service
	replicas int32
	before   []corev1.Pod
	watching *watch
}

// rolledPage makes a Service without Pods of its own, and waits until its page answers from so many Pods.
func rolledPage(t *testing.T, replicas int32) *rolled {
	t.Helper()
	page := func(p *criticalv2.PageFallback) { p.Replicas = &replicas }
	r := &rolled{service: newWorld(t).service("shop").withPage(page), replicas: replicas}
	r.standsIn(thePage)
	r.before = r.respondersRun()
	r.Expect(r.before).To(HaveLen(int(replicas)))
	addresses := map[types.UID][]string{}
	for i := range r.before {
		addresses[r.before[i].UID] = []string{r.before[i].Status.PodIP}
	}
	r.Eventually(r.publishedPods).Should(Equal(addresses), "addresses by Pod")
	r.watching = r.watched()
	r.watching.answers(thePage)
	return r
}

// responder is the Deployment of the responder.
func (w *world) responder(g Gomega) *appsv1.Deployment {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: criticalv2.ResponderName}}
	g.Expect(w.Get(w.ctx, types.NamespacedName{Namespace: w.namespace, Name: criticalv2.ResponderName}, deployment)).To(Succeed())
	return deployment
}

// publishedPods are the addresses in the Service's standby slices, by the Pod whose slice it is.
func (s *service) publishedPods(g Gomega) map[types.UID][]string {
	found := map[types.UID][]string{}
	for _, slice := range s.slices(g) {
		if slice.Labels[discoveryv1.LabelManagedBy] == criticalv2.ManagedBy {
			for _, endpoint := range slice.Endpoints {
				found[protection.StandsFor(&slice)] = append(found[protection.StandsFor(&slice)], endpoint.Addresses...)
			}
		}
	}
	return found
}

// unpublished are the responder's Pods that have been able to answer for a while, and are not ready,
// because no operator has published them.
func (w *world) unpublished(while time.Duration) func(g Gomega) []corev1.Pod {
	return func(g Gomega) []corev1.Pod {
		var found []corev1.Pod
		for _, pod := range w.responders(g) {
			containers := protection.PodCondition(&pod, corev1.ContainersReady)
			if containers.Status == corev1.ConditionTrue && time.Since(containers.LastTransitionTime.Time) >= while && !cluster.PodReady(&pod) {
				found = append(found, pod)
			}
		}
		return found
	}
}

// TestRespondersThatAnOperatorChangedBeforeItDied is the worst moment of an upgrade: the Deployment of
// every namespace has the new image, and no operator is left to publish the new Pods.
func TestRespondersThatAnOperatorChangedBeforeItDied(t *testing.T) {
	next := nextOperator(t)
	shops := []*rolled{rolledPage(t, 1), rolledPage(t, 2)}
	w := shops[0].world
	// New Pods come only once no operator acts: one that was published before would be no Pod of this test.
	quotas := make([]*corev1.ResourceQuota, len(shops))
	for i, shop := range shops {
		quotas[i] = shop.quota(0)
	}

	w.changeOperator(next)
	w.Eventually(func(g Gomega) []string {
		var images []string
		for _, shop := range shops {
			images = append(images, shop.responder(g).Spec.Template.Spec.Containers[0].Image)
		}
		return images
	}).WithPolling(50*time.Millisecond).Should(ContainElement(next), "images of the responders")
	w.freezeOperator()
	for _, shop := range shops {
		changeImage(shop.world, shop.responder(shop), next)
	}
	start := w.stopOperator()
	for i, shop := range shops {
		shop.remove(quotas[i])
	}

	for _, shop := range shops {
		shop.Eventually(shop.unpublished(standsStill)).Should(HaveLen(len(shop.before)), "new Pods, which are not ready")
		shop.Expect(shop.responder(shop).Status).To(And(HaveField("UpdatedReplicas", shop.replicas),
			HaveField("ReadyReplicas", shop.replicas), HaveField("Replicas", 2*shop.replicas)))
		for _, old := range shop.before {
			shop.Expect(shop.responders(shop)).To(ContainElement(HaveField("UID", old.UID)), "the Pods that are published stay")
		}
	}

	start()
	for _, shop := range shops {
		shop.areReplaced(shop.before)
		for _, pod := range shop.respondersRun() {
			shop.Expect(pod.Spec.Containers[0].Image).To(Equal(next))
		}
		shop.watching.answers(thePage)
	}
	for _, shop := range shops {
		results := shop.watching.end()
		shop.Expect(unanswered(results)).To(BeEmpty(), "requests to the page in namespace %s that no one answered", shop.namespace)
		shop.Expect(tally(results)).To(And(HaveLen(1), HaveKey(thePage)))
	}
}

// TestADrainWhileTheOperatorIsDown: of the Pods that are published the last one stays, and the address of
// one that has gone goes with it.
func TestADrainWhileTheOperatorIsDown(t *testing.T) {
	shop := rolledPage(t, 2)
	first, last := shop.before[0], shop.before[1]
	start := shop.stopOperator()

	// No one says of a promoted Pod that it ends: when it has, some requests go to its address until the
	// garbage collector has removed that, and kube-proxy followed.
	shop.watching.vanishing = true
	shop.Eventually(shop.evict).WithArguments(&first).Should(Succeed())
	shop.Expect(shop.evict(&last)).To(Satisfy(apierrors.IsTooManyRequests), "the budget protects the last one")
	shop.Eventually(shop.unpublished(0)).Should(HaveLen(1), "the successor, which is not ready")
	shop.Expect(shop.evict(&last)).To(Satisfy(apierrors.IsTooManyRequests), "a successor that is not published is none")

	shop.Eventually(shop.publishedPods).Should(Equal(map[types.UID][]string{last.UID: {last.Status.PodIP}}),
		"the slice of the Pod that has gone is removed, and the other one stays")
	shop.watching.answers(thePage)
	shop.Expect(shop.evict(&last)).To(Satisfy(apierrors.IsTooManyRequests))
	shop.Expect(shop.unpublished(0)(shop)).To(HaveLen(1))

	// With an operator the successor is published, and the drain goes on.
	start()
	shop.Eventually(shop.evict).WithArguments(&last).Should(Succeed())
	shop.Eventually(shop.publishedPods).ShouldNot(HaveKey(last.UID))
	shop.watching.answers(thePage)
	results := shop.watching.end()
	sum := prober.Summarise(prober.Segments(results))
	t.Logf("no one answered %d of %d requests", len(unanswered(results)), sum.Requests)
	shop.Expect(sum.Answered).To(And(HaveLen(1), HaveKey(thePage)))
	shop.Expect(sum.LongestGap).To(BeNumerically("<", time.Second), "the Service always has a page that answers")
}

// evict asks for the eviction of a Pod, as a drain does.
func (w *world) evict(pod *corev1.Pod) error {
	return w.Clientset.PolicyV1().Evictions(pod.Namespace).Evict(w.ctx,
		&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}})
}
