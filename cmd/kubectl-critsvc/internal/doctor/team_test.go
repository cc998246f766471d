package doctor

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/doctor/checkup"
)

// A team may read what is in its namespace: of the Services there, those are checked that
// its ServiceFallbacks protect.
func TestATeamChecksItsServices(t *testing.T) {
	ours := func(edit func(*criticalv2.ServiceStatus)) *criticalv2.ServiceFallback {
		policy := &criticalv2.ServiceFallback{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "ours"}}
		policy.Spec.Services = []string{"front"}
		detail := criticalv2.ServiceStatus{Namespace: "shop", Name: "front", State: criticalv2.StateArmed, Reason: criticalv2.ReasonStandbyReady}
		edit(&detail)
		policy.Status.Details = []criticalv2.ServiceStatus{detail}
		return policy
	}
	for sentence, test := range map[string]struct {
		policy *criticalv2.ServiceFallback
		want   checkup.Finding
	}{
		"one that it governs": {ours(func(*criticalv2.ServiceStatus) {}),
			checkup.Finding{Severity: checkup.OK, What: "ServiceFallback ours (tier Named): the Service is Armed (StandbyReady)"}},
		"one that an enforced CriticalService governs": {ours(func(detail *criticalv2.ServiceStatus) {
			detail.State, detail.Reason = criticalv2.StateIgnored, criticalv2.ReasonOverridden
			detail.OverriddenBy = &criticalv2.PolicyReference{Kind: "CriticalService", Name: "pci"}
		}), checkup.Finding{Severity: checkup.Warning, Unchecked: true, What: "not checked: CriticalService pci governs the Service, as the status of ServiceFallback ours says"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			reader := clientWith(t, func(object any) error {
				switch object.(type) {
				case *criticalv2.CriticalServiceList, *corev1.Namespace:
					return forbidden(object)
				}
				return nil
			}, front(), storefront(), test.policy)
			world, err := (&collector{Client: reader, config: nowhere, namespace: "shop"}).collect(t.Context(), nil)
			g.Expect(err).NotTo(HaveOccurred())
			report := checkup.Examine(world)
			g.Expect(report.Services).To(Equal(1))
			g.Expect(report.Findings).To(ContainElement(And(HaveField("Check", "protected"), HaveField("Severity", test.want.Severity),
				HaveField("Unchecked", test.want.Unchecked), HaveField("What", HavePrefix(test.want.What)))))
			g.Expect(report.Findings).To(ContainElement(And(HaveField("Check", "services"), HaveField("Unchecked", true), HaveField("What", ContainSubstring("list CriticalServices")))))
		})
	}
}
