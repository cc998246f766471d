package ingress_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/ingress"
)

// The same story is lived again and again; each time another write of the operator goes wrong,
// or is its last. Every scene must be reached and the end must be the same.
func TestTheEndIsTheSameWhicheverWriteGoesWrong(t *testing.T) {
	t.Parallel()
	testenv.WhicheverWriteGoesWrong(t, 8, lived)
}

// The same story is lived by operators that see the cluster as it was, in another order, or with gaps.
func TestTheEndIsTheSameHoweverItIsSeen(t *testing.T) {
	t.Parallel()
	testenv.HoweverItIsSeen(t, lived)
}

var lived = testenv.SideBySide(func(t *testing.T, fate *testenv.Fate) string { return alone(t).live(fate) })

// live lives one story, of annotations that are set, put back and left to others, and of Services on their fallback, under
// an operator of its own, and describes the end.
func (w *world) live(fate *testenv.Fate) string {
	w.T.Helper()
	options := ingress.Options{Annotations: map[string]string{"foo": "bar", "team": "shop"}, Status: true}
	web, api := w.standby("web"), w.standby("api")
	before := w.ingress("before", map[string]string{rewrite: "/", "team": "mine"}, "web")
	fate.Record(w.World, testenv.Laws{Manager: workloadsv1.ManagedBy, Writes: map[string][]string{
		"Ingress": {"metadata.annotations"},
	}}, &networkingv1.IngressList{}, &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{})
	w.startWith(options, fate.Befall)
	replace := func() { w.startWith(options, fate.Follow) }
	fate.Succeed(w.T, replace)

	w.Eventually(w.annotations(before)).Should(Equal(map[string]string{rewrite: "/", "team": "mine", "foo": "bar"}))
	after := w.ingress("after", nil, "web", "api")
	w.Eventually(w.annotations(after)).Should(Equal(map[string]string{"foo": "bar", "team": "shop"}))
	w.annotate(after, "foo", "")
	w.Eventually(w.annotations(after)).Should(HaveKeyWithValue("foo", "bar"), "it is put back")

	w.promote(web, true)
	w.Eventually(w.annotations(before)).Should(HaveKeyWithValue(fallback, "web"))
	w.Eventually(w.annotations(after)).Should(HaveKeyWithValue(fallback, "web"))
	w.promote(api, true)
	w.Eventually(w.annotations(after)).Should(HaveKeyWithValue(fallback, "api, web"))
	w.promote(web, false)
	w.Eventually(w.annotations(before)).ShouldNot(HaveKey(fallback))
	w.Eventually(w.annotations(after)).Should(HaveKeyWithValue(fallback, "api"))
	w.annotate(before, "team", "")
	w.Eventually(w.annotations(before)).Should(HaveKeyWithValue("team", "shop"), "no one else wants it any more")
	fate.AwaitRest(w.World, replace, func() *testenv.Operator { return w.operator.Settled(w.World) })
	return w.Describe(&networkingv1.IngressList{})
}
