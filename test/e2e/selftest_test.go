//go:build e2e

package e2e

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// TestTheResponderAnswersTheSelfTestInEveryProtocol: each port of the Service is asked in its own
// protocol, and the responder answers it.
func TestTheResponderAnswersTheSelfTestInEveryProtocol(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pod("shop", labels{"app": "shop"})
	shop := w.service("shop", func(s *corev1.Service) {
		s.Spec.Ports = nil
		for i, protocol := range []string{"http", "kubernetes.io/h2c", "grpc", "postgresql", "mysql", "redis", "mongodb", "https", "tcp"} {
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{
				Name: fmt.Sprintf("p%d", i), Port: int32(9000 + i), TargetPort: intstr.FromInt32(8080), AppProtocol: &protocol,
			})
		}
	}).withPage().ready()
	shop.condition(criticalv2.ConditionFailoverReady, metav1.ConditionTrue, criticalv2.ConditionReasonStandbyAnswers,
		"The standby of 1 Service answers.")
	w.Expect(w.warnings("Service", "shop", criticalv2.ConditionReasonStandbySilent)(w)).To(BeEmpty())
}

// TestAStandbyThatIsSilentIsFoundBeforeTheOutage: its Pods are ready, and nothing listens on the port
// that the Service would use.
func TestAStandbyThatIsSilentIsFoundBeforeTheOutage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.pod("shop", labels{"app": "shop"})
	w.pod("spare", labels{"app": "spare"})
	spare := w.service("spare", dialling(9090))
	shop := w.service("shop").withFallback(criticalv2.Fallback{Service: &criticalv2.BackupFallback{Name: "spare"}}).ready()

	silent := func(words ...string) {
		shop.condition(criticalv2.ConditionFailoverReady, metav1.ConditionFalse, criticalv2.ConditionReasonStandbySilent, words...)
	}
	silent("Service "+w.namespace+"/shop: port 80: Pod \"spare\" refused the connection on ", ":9090: nothing listens there.", `backup Service "spare"`)
	w.Eventually(w.warnings("Service", "shop", criticalv2.ConditionReasonStandbySilent)).Should(HaveExactElements(ContainSubstring(`Pod "spare" refused`)))
	shop.answeredBy("shop")

	change(w, spare.object, func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(8080) })
	shop.condition(criticalv2.ConditionFailoverReady, metav1.ConditionTrue, criticalv2.ConditionReasonStandbyAnswers)
	w.Expect(w.warnings("Service", "shop", criticalv2.ConditionReasonStandbySilent)(w)).To(HaveLen(1))

	// What the self-test says is true.
	w.remove(app)
	shop.standsIn("spare")
}
