package summary_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
)

// maintenance is about Service web/shop, with Deployment "shop" scaled to zero.
func maintenance(g Gomega, until string) *criticalv2.Maintenance {
	end, err := time.Parse(time.RFC3339, until)
	g.Expect(err).NotTo(HaveOccurred())
	return &criticalv2.Maintenance{Spec: criticalv2.MaintenanceSpec{
		Services: []string{"shop"}, Until: new(metav1.NewTime(end)), Restore: &criticalv2.WorkloadReplicas{Deployment: "shop", Replicas: 3},
	}}
}

func TestTheCauseOfAPlannedOutage(t *testing.T) {
	g := NewWithT(t)
	announced := maintenance(g, "2026-11-20T13:00:00Z")
	planned := because(judged("shop", decide.Plan{State: criticalv2.StateCovered, Maintenance: announced}), criticalv2.CauseScaledToZero)
	p := newRecorder(g, "shop").policy
	status := summary.Summarize(p, []summary.Verdict{planned}, summary.Scope{}, now)
	want := &criticalv2.OutageCause{
		Reason:  criticalv2.CauseMaintenance,
		Message: "The outage is planned: a maintenance is announced until 2026-11-20T13:00:00Z, and deployments.apps/shop was scaled to 0.",
	}
	g.Expect(status.Details[0].Cause).To(Equal(want))
	g.Expect(status.Outages[0].Cause).To(Equal(want))

	answers := judged("shop", decide.Plan{State: criticalv2.StateArmed, Maintenance: announced})
	g.Expect(summary.Summarize(p, []summary.Verdict{answers}, summary.Scope{}, now).Details[0].Cause).To(BeNil(), "there is no outage yet")
}

func TestTheCauseOfALiveDrill(t *testing.T) {
	g := NewWithT(t)
	drilled := judged("shop", decide.Plan{State: criticalv2.StateCovered, Drill: maintenance(g, "2026-11-20T12:05:00Z")})
	p := newRecorder(g, "shop").policy
	status := summary.Summarize(p, []summary.Verdict{drilled}, summary.Scope{}, now)
	g.Expect(status.Outages[0].Cause).To(Equal(&criticalv2.OutageCause{
		Reason:  criticalv2.CauseDrill,
		Message: "The outage is a live drill: deployments.apps/shop was scaled to 0, and gets its replicas back at 2026-11-20T12:05:00Z at the latest.",
	}))
}
