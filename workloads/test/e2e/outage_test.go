//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// sentence is what the responder says in the place of a Database.
const sentence = "The database of the shop is away."

func saying(d *workloadsv1.Database) {
	d.Spec.Fallback = &workloadsv1.ServiceProtection{Page: &criticalv2.PageFallback{Message: sentence}}
}

// TestClientsOfADatabaseThatIsAwayGetTheRefusalOfItsProtocol: one client lives through two outages, and recovers by itself.
func TestClientsOfADatabaseThatIsAwayGetTheRefusalOfItsProtocol(t *testing.T) {
	for _, kind := range engines {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := w.database("shop", kind, saying).runs()
			client := d.talk()
			client.isAnswered()
			w.isSeen("shop", criticalv2.StateArmed)

			began := time.Now()
			d.suspend(true)
			client.isRefused()
			t.Logf("%s: the client is refused %s after the Database was suspended", kind, time.Since(began).Round(100*time.Millisecond))
			d.is(workloadsv1.ConditionReady, metav1.ConditionFalse, workloadsv1.ReasonSuspended, "spec.suspend")
			d.is(workloadsv1.ConditionProtected, metav1.ConditionTrue, criticalv2.ReasonFallbackServing)
			w.isSeen("shop", criticalv2.StateCovered)
			d.suspend(false)
			client.isAnswered()
			d.runs()

			// A Pod that cannot start: the registry has no such image. One that runs would be kept.
			good := d.pod().Spec.Containers[0].Image
			d.suspend(true)
			d.is(workloadsv1.ConditionReady, metav1.ConditionFalse, workloadsv1.ReasonSuspended)
			d.edit(func(spec *workloadsv1.DatabaseSpec) { spec.Image, spec.Suspend = good+"-missing", false })
			d.is(workloadsv1.ConditionReady, metav1.ConditionFalse, workloadsv1.ReasonImagePullFailing, good+"-missing", "spec.image")
			d.is(workloadsv1.ConditionProtected, metav1.ConditionTrue, criticalv2.ReasonFallbackServing)
			client.isRefused()
			d.edit(func(spec *workloadsv1.DatabaseSpec) { spec.Image = good })
			client.isAnswered()
			d.runs()
			w.isSeen("shop", criticalv2.StateArmed)
		})
	}
}

// isSeen waits until `kubectl critsvc status` shows a Service of the scenario in a state.
func (w *world) isSeen(service string, state criticalv2.ServiceState) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		var stdout, stderr bytes.Buffer
		command := exec.CommandContext(w.ctx, plugin, "status", "-o", "json", "--kubeconfig="+w.Kubeconfig, "--namespace="+w.namespace)
		command.Stdout, command.Stderr = &stdout, &stderr
		g.Expect(command.Run()).To(Succeed(), stderr.String())
		var seen struct {
			Services []struct {
				Name  string                  `json:"name"`
				State criticalv2.ServiceState `json:"state"`
			} `json:"services"`
		}
		g.Expect(json.Unmarshal(stdout.Bytes(), &seen)).To(Succeed(), stdout.String())
		g.Expect(seen.Services).To(ConsistOf(And(HaveField("Name", service), HaveField("State", state))))
	}).Should(Succeed(), "kubectl critsvc status")
}
