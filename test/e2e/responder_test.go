//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/test/cluster"
)

func TestTheResponderIsRolledWhileItIsAllThatAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shop := w.service("shop").withPage()
	shop.standsIn(thePage)
	before := w.respondersRun()
	o := shop.watched()

	// A ConfigMap with content is a volume more, and so new Pods.
	w.content("ours", map[string]string{"index.html": "<p>" + contentSentence})
	change(w, shop.v2(), func(p *criticalv2.CriticalService) { p.Spec.Fallback.Page.ConfigMapName = "ours" })
	w.areReplaced(before)
	o.answers(theContent)
	results := o.end()
	w.Expect(unanswered(results)).To(BeEmpty(), "requests that no one answered")
	w.Expect(tally(results)).To(And(HaveLen(2), HaveKey(thePage), HaveKey(theContent)))
	shop.standsIn(theContent)
}

// TestTheOperatorIsUpgradedWhileItsResponderIsAllThatAnswers is not parallel, as all share the operator.
func TestTheOperatorIsUpgradedWhileItsResponderIsAllThatAnswers(t *testing.T) {
	next := nextOperator(t)
	w := newWorld(t)
	shop := w.service("shop").withPage()
	shop.standsIn(thePage)
	before := w.respondersRun()
	o := shop.watched()
	operators := w.operatorProcesses()

	restore := w.changeOperator(next)
	w.Expect(operatorRuns(w.ctx)).To(Succeed())
	for uid := range w.operatorProcesses() {
		w.Expect(operators).NotTo(HaveKey(uid), "each replica is a new one")
	}
	w.areReplaced(before)
	for _, pod := range w.respondersRun() {
		w.Expect(pod.Spec.Containers[0].Image).To(Equal(next), "the responder's image is the operator's")
	}
	o.answers(thePage)
	w.Expect(unanswered(o.end())).To(BeEmpty(), "requests that no one answered")
	shop.standsIn(thePage)

	// The new one has taken over: it sees the outage end.
	w.pod("shop", labels{"app": "shop"})
	shop.standsBy("shop")
	restore()
}

// nextOperator is another image of the operator.
func nextOperator(t *testing.T) string {
	t.Helper()
	next := os.Getenv("E2E_NEXT_IMG")
	if next == "" {
		t.Skip("E2E_NEXT_IMG, another image of the operator, is not set: run 'make e2e', which sets it")
	}
	return next
}

// v2 is the Service's CriticalService, read again.
func (s *service) v2() *criticalv2.CriticalService {
	s.t.Helper()
	policy := &criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: s.policy.GetName()}}
	s.refresh(policy)
	return policy
}

// respondersRun waits until all Pods of the responder are ready, and returns them.
func (w *world) respondersRun() []corev1.Pod {
	w.t.Helper()
	var pods []corev1.Pod
	key := client.ObjectKey{Namespace: w.namespace, Name: criticalv2.ResponderName}
	w.Eventually(func(g Gomega) {
		done, state, err := w.DeploymentAvailable(w.ctx, key)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(done).To(BeTrue(), state)
		pods = w.responders(g)
	}).Should(Succeed(), "Pods of the responder")
	return pods
}

// areReplaced waits until none of the Pods exists any more, and others are ready.
func (w *world) areReplaced(pods []corev1.Pod) {
	w.t.Helper()
	var old []types.UID
	for i := range pods {
		old = append(old, pods[i].UID)
	}
	w.Eventually(func(g Gomega) {
		for _, pod := range w.podsWith(g, labels{criticalv2.LabelResponder: criticalv2.ResponderServer}) {
			g.Expect(old).NotTo(ContainElement(pod.UID))
			g.Expect(cluster.PodReady(&pod)).To(BeTrue(), pod.Name)
		}
	}).Should(Succeed(), "Pods of the responder")
}

func TestTheResponderRunsWherePodSecurityIsRestricted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, labels{
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest",
	})
	shop := w.service("shop").withPage(func(p *criticalv2.PageFallback) { p.Replicas = new(int32(2)) })
	shop.standsIn(thePage)
	w.Expect(w.respondersRun()).To(HaveLen(2))

	// When no one asks for it any more, nothing of it stays.
	w.remove(shop.policy)
	shop.answeredByNoOne()
	w.Eventually(func(g Gomega) []corev1.Pod {
		return w.podsWith(g, labels{criticalv2.LabelResponder: criticalv2.ResponderServer})
	}).Should(BeEmpty(), "Pods of the responder")
}

func TestTheResponderOfFiftyServicesIsSmall(t *testing.T) {
	t.Parallel()
	const (
		services = 50
		limit    = 20 << 20
	)
	w := newWorld(t)
	shops := w.manyServices(services, 1)
	w.Eventually(w.covered(shops[0])).Should(BeNumerically("==", services))
	for _, shop := range shops {
		shop.answeredBy(thePage)
	}
	for _, pod := range w.respondersRun() {
		memory := w.residentMemory(&pod, "responder")
		t.Logf("Pod %s, which answers for %d Services, has %.1f MiB in memory", pod.Name, services, float64(memory)/(1<<20))
		w.Expect(memory).To(BeNumerically("<", limit), "resident memory of Pod %s", pod.Name)
	}
}

// TestAThousandListenersInOneNamespace is not parallel: Kubernetes' own controllers write so many
// slices at twenty in a second, and would be late for other scenarios.
func TestAThousandListenersInOneNamespace(t *testing.T) {
	const services, ports, sample = 350, 3, 10
	w := newWorld(t)
	shops := w.manyServices(services, ports)
	w.Eventually(w.covered(shops[0]), 3*time.Minute).Should(BeNumerically("==", services))

	var table corev1.ConfigMap
	w.Expect(w.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: criticalv2.ResponderName}, &table)).To(Succeed())
	listeners, err := listener.Parse([]byte(table.Data[listener.Key]))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(listeners.Listeners).To(HaveLen(services * ports))
	for _, pod := range w.respondersRun() {
		t.Logf("Pod %s, with %d listeners, has %.1f MiB in memory", pod.Name, services*ports, float64(w.residentMemory(&pod, "responder"))/(1<<20))
	}
	for i := 0; i < services; i += services / sample {
		for _, port := range shops[i].object.Spec.Ports {
			w.Eventually(ask).WithArguments(urlOf(shops[i].object.Spec.ClusterIP, port.Port)).Should(Equal(thePage),
				"port %d of Service %s", port.Port, shops[i].object.Name)
		}
	}
}

// manyServices makes Services without Pods, and one CriticalService for all of them.
func (w *world) manyServices(services, ports int) []*service {
	w.t.Helper()
	var made []*service
	for i := range services {
		name := fmt.Sprintf("shop-%d", i)
		object := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: labels{"critical": "many"}},
			Spec:       corev1.ServiceSpec{Selector: labels{"app": name}},
		}
		for port := range ports {
			object.Spec.Ports = append(object.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("port-%d", port), Port: int32(80 + port)})
		}
		// They go with their namespace: to delete each of them would take its time.
		w.Expect(w.Create(w.ctx, object)).To(Succeed())
		made = append(made, &service{world: w, object: object})
	}
	made[0].withPage()
	for _, s := range made {
		s.policy = made[0].policy
	}
	return made
}

// covered is how many Services the Service's CriticalService says are answered for.
func (w *world) covered(shop *service) func() int32 {
	return func() int32 { return shop.v2().Status.Services.Covered }
}
