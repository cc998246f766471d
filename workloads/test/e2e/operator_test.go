//go:build e2e

package e2e

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/cluster"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

func TestTheOperatorRunsTwiceAndIsReady(t *testing.T) {
	g := NewWithT(t)
	pods, err := shared.PodsOf(t.Context(), workloads)
	g.Expect(err).NotTo(HaveOccurred())
	ready := 0
	for i := range pods {
		if cluster.PodReady(&pods[i]) {
			ready++
		}
	}
	g.Expect(ready).To(Equal(2))
}

// TestTheOperatorIsKilledInTheMiddleOfAReplacement is not parallel, as all share the operator.
func TestTheOperatorIsKilledInTheMiddleOfAReplacement(t *testing.T) {
	w := newWorld(t)
	d := w.database("shop", workloadsv1.DatabaseMySQL, w.stored()).runs()
	d.write("first")
	client := d.talk()
	client.isAnswered()
	claim := d.claim()
	d.refresh(claim)
	secret := &corev1.Secret{ObjectMeta: d.named(d.object.SecretName())}
	d.refresh(secret)
	pod, password := d.pod(), secret.Data["password"]

	// The old Pod is on its way out, and the next one not there yet, when all that the operator remembers is lost.
	d.edit(func(spec *workloadsv1.DatabaseSpec) {
		spec.Pod.Resources.Requests = workloadsv1.Quantities{corev1.ResourceCPU: "10m"}
	})
	w.Eventually(func() bool {
		now := &corev1.Pod{ObjectMeta: d.named("shop")}
		return w.isGone(now) || now.UID != pod.UID || now.DeletionTimestamp != nil
	}).WithPolling(tick).Should(BeTrue(), "the replacement begins")
	w.kill(workloads)

	next := d.replaced(pod)
	w.Expect(next.Spec.Containers[0].Resources.Requests).To(HaveKey(corev1.ResourceCPU))
	client.isAnswered()
	d.runs().holds("first")
	kept := claim.UID
	d.refresh(claim)
	w.Expect(claim.UID).To(Equal(kept))
	d.refresh(secret)
	w.Expect(secret.Data["password"]).To(Equal(password), "the password was not generated again")
	w.Consistently(func() types.UID { return d.pod().UID }).Should(Equal(next.UID), "the next Pod stays")
}

// TestTheOtherReplicaTakesOver is not parallel, as all share the operator.
func TestTheOtherReplicaTakesOver(t *testing.T) {
	w := newWorld(t)
	leader := w.leader()
	w.Expect(w.Kill(w.ctx, *leader)).To(Succeed())
	d := w.database("shop", workloadsv1.DatabaseMongo)
	d.runs()
	w.Expect(w.leader().UID).NotTo(Equal(leader.UID))
	w.Expect(w.AwaitDeployment(w.ctx, workloads, installLimit)).To(Succeed())
}

// leader is the Pod that holds the operator's Lease.
func (w *world) leader() *corev1.Pod {
	w.t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: workloads.Namespace, Name: workloads.Name}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: workloads.Namespace}}
	w.Eventually(func(g Gomega) {
		g.Expect(w.Get(w.ctx, client.ObjectKeyFromObject(lease), lease)).To(Succeed())
		// An identity is the name of the Pod and, after "_", a UID.
		pod.Name, _, _ = strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
		g.Expect(pod.Name).NotTo(BeEmpty())
		g.Expect(w.Get(w.ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
	}).Should(Succeed(), "the holder of the Lease")
	return pod
}

// kill kills all replicas of an operator, and waits for the next ones.
func (w *world) kill(operator client.ObjectKey) {
	w.t.Helper()
	w.Expect(w.KillDeployment(w.ctx, operator, installLimit)).To(Succeed())
}

// processes says which processes an operator is: how often the container of each of its Pods was restarted.
func (w *world) processes(operator client.ObjectKey) map[types.UID]int32 {
	w.t.Helper()
	pods, err := w.PodsOf(w.ctx, operator)
	w.Expect(err).NotTo(HaveOccurred())
	found := map[types.UID]int32{}
	for i := range pods {
		w.Expect(pods[i].Status.ContainerStatuses).To(HaveLen(1))
		found[pods[i].UID] = pods[i].Status.ContainerStatuses[0].RestartCount
	}
	return found
}
