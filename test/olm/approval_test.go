//go:build e2e

package olm

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// TestNothingIsInstalledWithoutApproval is an install in a namespace of another name, by a user who
// approves each install.
func TestNothingIsInstalledWithoutApproval(t *testing.T) {
	w := newWorld(t, approvalHome, restricted)
	var plan *v1alpha1.InstallPlan

	w.stage("the install awaits approval", func() {
		w.install(current, map[string]any{
			"spec.installPlanApproval": string(v1alpha1.ApprovalManual), "spec.startingCSV": previous.csv(),
		})
		plan = w.awaitsApproval(previous)
		w.Expect(w.installedIn(w, w.operator)).To(BeEmpty())
		w.Expect(w.gone(customResources())()).To(BeTrue(), "not even the definition of CriticalServices is there")
	})
	w.stage("approved, it is done, and the upgrade awaits approval", func() {
		w.approve(plan)
		w.succeeds(previous)
		plan = w.awaitsApproval(current)
		w.Consistently(w.installedIn).WithArguments(w.operator).Should(HaveExactElements(previous.csv()))
	})
	w.stage("approved, the upgrade is done", func() {
		w.approve(plan)
		w.succeeds(current)
	})
	w.stage("the documented uninstall leaves nothing", func() {
		w.uninstall()
		w.leavesNothing(w.sweepUp)
	})
}
