package etcdinstance_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
)

// The same story is lived again and again; each time another write of the operator goes wrong,
// or is its last. Every scene must be reached and the end must be the same.
func TestTheEndIsTheSameWhicheverWriteGoesWrong(t *testing.T) {
	t.Parallel()
	testenv.WhicheverWriteGoesWrong(t, 36, lived)
}

// The same story is lived by operators that see the cluster as it was, in another order, or with gaps.
func TestTheEndIsTheSameHoweverItIsSeen(t *testing.T) {
	t.Parallel()
	testenv.HoweverItIsSeen(t, lived)
}

var lived = testenv.SideBySide(func(t *testing.T, fate *testenv.Fate) string { return alone(t).live(fate) })

// live lives one story, from the first member over three to one again, with certificates and volumes, under an operator of
// its own, and describes the end.
func (w *world) live(fate *testenv.Fate) string {
	w.T.Helper()
	fate.Record(w.World, testenv.Laws{Manager: workloadsv1.ManagedBy, Writes: map[string][]string{
		"ETCDInstance": {"status", "metadata.finalizers"},
	}, Kept: []string{"PersistentVolumeClaim"}}, &workloadsv1alpha1.ETCDInstanceList{}, &appsv1.StatefulSetList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{},
		&corev1.SecretList{}, &corev1.PersistentVolumeClaimList{}, &policyv1.PodDisruptionBudgetList{}, &criticalv2.ServiceFallbackList{})
	w.start(fate.Befall)
	replace := func() { w.operator.Stop(w.T); w.start(fate.Follow) }
	fate.Succeed(w.T, replace)

	e := w.instance(func(e *workloadsv1alpha1.ETCDInstance) {
		e.Spec.WithTLSBundle, e.Spec.Storage = true, &workloadsv1alpha1.ETCDStorage{Size: "1Gi"}
	})
	w.becomes(e, workloadsv1alpha1.ETCDRunning, 1)
	authority := &corev1.Secret{}
	authority.Namespace, authority.Name = w.Namespace, e.AuthoritySecretName()
	w.Expect(w.Exists(authority)).To(BeTrue())
	before := authority.DeepCopy()
	testenv.Update(w.World, e, func(e *workloadsv1alpha1.ETCDInstance) { e.Spec.Replicas = 3 })
	w.becomes(e, workloadsv1alpha1.ETCDRunning, 3)

	w.etcd.does(func(f *etcd) { f.leader = f.members[2].ID })
	testenv.Update(w.World, e, func(e *workloadsv1alpha1.ETCDInstance) { e.Spec.Replicas = 1 })
	w.becomes(e, workloadsv1alpha1.ETCDRunning, 1)
	w.Eventually(func(g Gomega) {
		w.kubernetes(g, e)
		var pods corev1.PodList
		g.Expect(w.Cluster.Client.List(w.T.Context(), &pods, client.InNamespace(w.Namespace))).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(1))
	}).Should(Succeed())
	w.Expect(w.Exists(authority)).To(BeTrue())
	w.Expect(authority.Data).To(Equal(before.Data), "clients go on to trust the members")
	fate.AwaitRest(w.World, replace, func() *testenv.Operator { return w.operator.Settled(w.World) })
	return w.Describe(&workloadsv1alpha1.ETCDInstanceList{}, &appsv1.StatefulSetList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{},
		&corev1.SecretList{}, &corev1.PersistentVolumeClaimList{}, &policyv1.PodDisruptionBudgetList{}, &criticalv2.ServiceFallbackList{})
}
