package database_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// The same story is lived again and again; each time another write of the operator goes wrong,
// or is its last. Every scene must be reached and the end must be the same.
func TestTheEndIsTheSameWhicheverWriteGoesWrong(t *testing.T) {
	t.Parallel()
	testenv.WhicheverWriteGoesWrong(t, 28, lived)
}

// The same story is lived by operators that see the cluster as it was, in another order, or with gaps.
func TestTheEndIsTheSameHoweverItIsSeen(t *testing.T) {
	t.Parallel()
	testenv.HoweverItIsSeen(t, lived)
}

var lived = testenv.SideBySide(func(t *testing.T, fate *testenv.Fate) string { return alone(t).live(fate) })

// live lives one story, from the first Pod over another image to a time without one, under an
// operator of its own, and describes the end.
func (w *world) live(fate *testenv.Fate) string {
	w.T.Helper()
	fate.Record(w.World, testenv.Laws{Manager: workloadsv1.ManagedBy, Writes: map[string][]string{
		"Database": {"status"},
	}, Kept: []string{"PersistentVolumeClaim", "Secret"}}, &workloadsv1.DatabaseList{}, &corev1.PodList{}, &corev1.ServiceList{}, &corev1.PersistentVolumeClaimList{},
		&corev1.SecretList{}, &criticalv2.ServiceFallbackList{})
	w.startWith(fate.Befall)
	replace := func() { w.stop(); w.startWith(fate.Follow) }
	fate.Succeed(w.T, replace)

	d := w.running(withStorage)
	secret := w.uid(w.secret(d.SecretName()))()
	w.cores(d, criticalv2.StateArmed, criticalv2.ReasonStandbyReady)
	w.Eventually(w.protected(d)).Should(Equal(criticalv2.ReasonStandbyReady))

	before := w.uid(w.pod(d))()
	w.passes(w.wants(d, "mongo:7.0"))
	w.becomes(d, before, "mongo:7.0")

	testenv.Update(w.World, d, func(d *workloadsv1.Database) {
		d.Spec.Suspend, d.Spec.Fallback = true, &workloadsv1.ServiceProtection{None: &workloadsv1.NoFallback{}}
	})
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonSuspended))
	w.Eventually(w.Exists).WithArguments(w.fallback(d)).Should(BeFalse())

	testenv.Update(w.World, d, func(d *workloadsv1.Database) { d.Spec.Suspend, d.Spec.Fallback = false, nil })
	w.Eventually(w.Exists).WithArguments(w.pod(d)).Should(BeTrue())
	w.MakeReady(w.pod(d))
	w.Eventually(w.Exists).WithArguments(w.fallback(d)).Should(BeTrue())
	w.cores(d, criticalv2.StateArmed, criticalv2.ReasonStandbyReady)
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonRunning))
	w.Eventually(w.protected(d)).Should(Equal(criticalv2.ReasonStandbyReady))
	w.Expect(w.uid(w.secret(d.SecretName()))()).To(Equal(secret), "one password opens the data")
	fate.AwaitRest(w.World, replace, func() *testenv.Operator { return w.operator.Settled(w.World) })
	return w.Describe(&workloadsv1.DatabaseList{}, &corev1.PodList{}, &corev1.ServiceList{}, &corev1.PersistentVolumeClaimList{},
		&corev1.SecretList{}, &criticalv2.ServiceFallbackList{})
}
