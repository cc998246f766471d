package database_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// The same story is lived again and again; each time another write of the operator goes wrong,
// or is its last. Every scene must be reached and the end must be the same.
func TestTheEndIsTheSameWhicheverWriteGoesWrong(t *testing.T) {
	testenv.WhicheverWriteGoesWrong(t, 15, lived)
}

// The same story is lived by operators that see the cluster as it was, in another order, or with gaps.
func TestTheEndIsTheSameHoweverItIsSeen(t *testing.T) { testenv.HoweverItIsSeen(t, lived) }

func lived(t *testing.T, fate *testenv.Fate) string {
	t.Helper()
	if !fate.IsHappy() {
		t.Parallel()
	}
	return alone(t).live(fate)
}

// live lives one story, from the first Pod over another image to a time without one, under an
// operator of its own, and describes the end.
func (w *world) live(fate *testenv.Fate) string {
	w.T.Helper()
	w.startWith(fate.Befall)
	fate.Succeed(w.T, func() { w.stop(); w.startWith(fate.Follow) })

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
	return w.describe(d)
}

// describe says all about the end that is not chance: times, versions, the password, the port of
// the nodes, and the name of the world.
func (w *world) describe(d *workloadsv1.Database) string {
	w.T.Helper()
	var end struct {
		Objects []map[string]any
		Keys    []string
		Status  workloadsv1.DatabaseStatus
	}
	pod, service, claim, secret, fallback := w.pod(d), w.service(d), w.claim(d), w.secret(d.SecretName()), w.fallback(d)
	for kind, object := range map[string]client.Object{
		"Pod": pod, "Service": service, "PersistentVolumeClaim": claim, "Secret": secret, "ServiceFallback": fallback,
	} {
		w.Expect(w.Exists(object)).To(BeTrue(), kind)
		end.Objects = append(end.Objects, map[string]any{
			"kind": kind, "labels": object.GetLabels(), "annotations": object.GetAnnotations(), "isOwned": metav1.IsControlledBy(object, d),
		})
	}
	slices.SortFunc(end.Objects, func(a, b map[string]any) int { return strings.Compare(a["kind"].(string), b["kind"].(string)) })
	end.Objects = append(end.Objects,
		map[string]any{"image": pod.Spec.Containers[0].Image},
		map[string]any{"selector": service.Spec.Selector, "type": service.Spec.Type},
		map[string]any{"requests": claim.Spec.Resources.Requests},
		map[string]any{"fallback": fallback.Spec},
	)
	end.Keys = slices.Sorted(maps.Keys(secret.Data))
	w.Expect(w.Exists(w.trial(d))).To(BeFalse())
	w.Expect(w.Exists(d)).To(BeTrue())
	end.Status = d.Status
	end.Status.NodePort = 0
	for i := range end.Status.Conditions {
		end.Status.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	text, err := yaml.Marshal(end)
	w.Expect(err).NotTo(HaveOccurred())
	return strings.ReplaceAll(string(text), w.Namespace, "WORLD")
}
