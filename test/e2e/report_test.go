//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// reportFailure shows the world as it was when the scenario failed. It must be called before the
// scenario makes objects, and after its namespace was made: clean-ups run in the opposite order.
func (w *world) reportFailure() {
	w.t.Cleanup(func() {
		if !w.t.Failed() {
			return
		}
		// A failure while reporting must not hide the failure that is reported.
		g := NewGomega(func(message string, _ ...int) { w.t.Log(message) })
		w.t.Log(w.policiesText(g))
		w.t.Log(w.Report(w.ctx, w.namespace, w.began))
		w.t.Log(w.Log(w.ctx, operator, w.namespace, w.began))
	})
}

func (w *world) policiesText(g Gomega) string {
	var policies criticalv2.CriticalServiceList
	g.Expect(w.List(w.ctx, &policies)).To(Succeed())
	text := &strings.Builder{}
	for _, policy := range policies.Items {
		if !w.concerns(&policy) {
			continue
		}
		status, err := yaml.Marshal(policy.Status)
		g.Expect(err).NotTo(HaveOccurred())
		_, _ = fmt.Fprintf(text, "status of CriticalService %s:\n%s", policy.Name, indent(status))
	}
	return text.String()
}

func (w *world) concerns(policy *criticalv2.CriticalService) bool {
	return slices.Contains(policy.Spec.Namespaces, w.namespace) || strings.HasPrefix(policy.Name, w.namespace) ||
		slices.ContainsFunc(policy.Status.Details, func(d criticalv2.ServiceStatus) bool { return d.Namespace == w.namespace })
}

func indent(text []byte) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(string(text), "\n"), "\n", "\n  ") + "\n"
}
