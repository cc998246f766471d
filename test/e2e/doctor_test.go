//go:build e2e

package e2e

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// examined is what the doctor finds, and its exit code.
func (w *world) examined(g Gomega, arguments ...string) (code int, report checkup) {
	code, stdout, stderr := w.runPlugin(append([]string{"doctor", "-o", "json"}, arguments...)...)
	g.Expect(stderr).To(BeEmpty())
	g.Expect(json.Unmarshal([]byte(stdout), &report)).To(Succeed(), stdout)
	return code, report
}

// finds waits until the doctor has a finding of a check about the Service, with
// these words.
func (s *service) finds(check string, want severity, words string) {
	s.t.Helper()
	s.Eventually(func(g Gomega) {
		code, report := s.examined(g, "svc/"+s.object.Name)
		g.Expect(report.Findings).To(ContainElement(And(
			HaveField("Check", check), HaveField("Severity", want), HaveField("What", ContainSubstring(words)),
			HaveField("Subject", "service/"+s.namespace+"/"+s.object.Name),
		)))
		if want == problem {
			g.Expect(code).To(Equal(exitNo))
		}
	}).Should(Succeed())
}

func TestTheDoctorFindsNothingWrongWithAGoodService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployment("shop")
	shop := w.service("shop").withPage()
	shop.ready()

	w.Eventually(func(g Gomega) {
		code, report := w.examined(g)
		for _, finding := range report.Findings {
			g.Expect(finding.Severity).NotTo(Equal(problem), "%+v", finding)
			g.Expect(finding.What).NotTo(ContainSubstring("not checked"))
		}
		g.Expect(code).To(Equal(0))
		g.Expect(report.Services).To(Equal(1))
		for _, check := range []string{"definition", "operator", "version", "certificate", "permissions", "responder", "protected", "standby", "port", "listening", "consumer", "network-policy"} {
			g.Expect(report.Findings).To(ContainElement(And(HaveField("Check", check), HaveField("Severity", ok))))
		}
	}).Should(Succeed())
	shop.finds("listening", ok, "80: http 503")
	shop.finds("self-test", ok, "test")

	_, text, _ := w.runPlugin("doctor", "svc/shop")
	t.Log(text)
	w.Expect(text).To(ContainSubstring("Service " + w.namespace + "/shop"))
	w.Expect(text).To(HaveSuffix("1 Service checked: the next failover should work.\n"))
}

func TestTheDoctorFindsWhatWouldBlockTheFailover(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployment("shop")

	// It is not protected.
	shop := w.service("shop")
	shop.finds("protected", problem, "no CriticalService or ServiceFallback matches")

	// Its backup does not exist; then it exists, and nothing listens.
	shop.withFallback(criticalv2.Fallback{Service: &criticalv2.BackupFallback{Name: "spare"}})
	shop.finds("standby", problem, "nothing stands by")
	w.deployment("spare")
	w.service("spare", dialling(9999))
	shop.finds("listening", problem, "does not answer")

	// A policy of the network keeps clients from the page, until the page is let out of it.
	page := w.service("page", func(s *corev1.Service) { s.Spec.Selector = labels{"app": "shop"} }).withPage()
	page.ready()
	page.finds("network-policy", ok, "no NetworkPolicy")
	w.create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "deny-all"}})
	page.finds("network-policy", problem, "NetworkPolicy deny-all allows no connection")
	w.create(&networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "pages"},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: labels{criticalv2.LabelResponder: criticalv2.ResponderServer}},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{}},
		},
	})
	page.finds("network-policy", ok, "no NetworkPolicy")

	// An Ingress of a controller that needs promotion.
	w.create(&networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "page"},
		Spec: networkingv1.IngressSpec{
			IngressClassName: new("of-no-controller"),
			DefaultBackend:   &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "page", Port: networkingv1.ServiceBackendPort{Number: 80}}},
		},
	})
	page.finds("consumer", warning, "Ingress page (class of-no-controller")
}

// It is not parallel: it takes the operator's permissions, and the operator.
func TestTheDoctorFindsWhatIsWrongWithTheOperator(t *testing.T) {
	w := newWorld(t)
	w.deployment("shop")
	w.service("shop").withPage().ready()

	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: operatorName + "-namespaces"}}
	w.refresh(role)
	whole := role.Rules
	restore := func() { change(w, role, func(r *rbacv1.ClusterRole) { r.Rules = whole }) }
	t.Cleanup(restore)
	change(w, role, func(r *rbacv1.ClusterRole) {
		r.Rules = nil
		for _, rule := range whole {
			if rule.APIGroups[0] != "discovery.k8s.io" {
				r.Rules = append(r.Rules, rule)
			}
		}
	})
	hasProblem := func(check, words string) func(g Gomega) {
		return func(g Gomega) {
			code, report := w.examined(g)
			g.Expect(code).To(Equal(exitNo))
			g.Expect(report.Verdict).To(Equal(problem))
			g.Expect(report.Findings).To(ContainElement(And(
				HaveField("Subject", "installation"), HaveField("Check", check), HaveField("Severity", problem), HaveField("What", ContainSubstring(words)),
			)))
		}
	}
	w.Eventually(hasProblem("permissions", "create endpointslices.discovery.k8s.io")).Should(Succeed())
	restore()
	w.Eventually(func(g Gomega) {
		_, report := w.examined(g)
		g.Expect(report.Findings).To(ContainElement(And(HaveField("Check", "permissions"), HaveField("Severity", ok))))
	}).Should(Succeed())

	start := w.stopOperator()
	w.Eventually(hasProblem("operator", "scaled to 0")).Should(Succeed())
	start()
}
