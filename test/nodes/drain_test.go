//go:build e2e

package nodes

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/prober"
)

func TestNoRequestIsLostWhileEachNodeIsDrained(t *testing.T) {
	w := newWorld(t)
	w.only(first, second, third)
	shop, closed := w.service("shop"), w.service("closed")
	app := w.application("shop", 2, "")
	w.create(&policyv1.PodDisruptionBudget{ObjectMeta: w.meta("shop"), Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels{"app": "shop"}},
	}})
	w.protect()
	open, page := w.ask(shop, prober.LowPorts), w.ask(closed, prober.LowPorts)
	w.answeredBy(open, "shop")
	w.answeredBy(page, thePage)

	began := time.Now()
	for _, node := range []string{first, second, third} {
		drain := time.Now()
		w.run(kubectl, "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=4m")
		t.Logf("%s was drained after %s", node, time.Since(drain).Round(time.Second))
		w.run(kubectl, "uncordon", node)
		for _, key := range []client.ObjectKey{operator, client.ObjectKeyFromObject(app), {Namespace: "kube-system", Name: "coredns"}} {
			w.Expect(w.AwaitDeployment(w.ctx, key, soon)).To(Succeed())
		}
		w.awaitResponders()
	}
	w.answeredBy(open, "shop")
	w.answeredBy(page, thePage)
	t.Logf("open: %s; closed: %s", missed(open, began), missed(page, began))
	w.Expect(open.unanswered(began)).To(BeEmpty(), "requests to the application")
	w.Expect(page.unanswered(began)).To(BeEmpty(), "requests that the page answers")
}
