package operator_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/check"
)

// checked is what `manager check` reports, and why it fails.
func checked(t *testing.T, timeout time.Duration) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	var report bytes.Buffer
	err := check.Webhooks(ctx, adminConfig, "", &report, check.CriticalServices...)
	return report.String(), err
}

func TestTheCheckSucceedsWhereTheAPIServerReachesTheWebhooksAndCreatesNothing(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	w.installValidation()
	w.start()
	report, err := checked(t, waitTimeout)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(report).To(Equal("conversion: the API server reaches the operator's webhook\nvalidation: the API server reaches the operator's webhook\n"))
	var list criticalv2.CriticalServiceList
	w.Expect(admin.List(t.Context(), &list)).To(Succeed())
	w.Expect(list.Items).To(BeEmpty())
}

func TestTheCheckFailsWhereTheAPIServerDoesNotReachTheWebhooks(t *testing.T) {
	const brief = 3 * time.Second
	for sentence, test := range map[string]struct {
		install   func(w *world)
		complaint string
		report    string
	}{
		"nothing is installed": {func(*world) {}, "conversion: the server could not find the requested resource", ""},
		"the operator does not run": {func(w *world) {
			w.installNew()
			w.installValidation()
		}, "conversion: ", ""},
		"nothing asks for the validation": {func(w *world) {
			w.installNew()
			w.start()
			w.createShop()
		}, "validation: a CriticalService is accepted that the operator refuses", "conversion: the API server reaches the operator's webhook\n"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t)
			test.install(w)
			report, err := checked(t, brief)
			w.Expect(err).To(MatchError(And(HavePrefix(test.complaint), ContainSubstring("the API server must reach the port webhook"))))
			w.Expect(report).To(Equal(test.report))
		})
	}
}

func TestTheCheckIsACommand(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("KUBECONFIG", "/nonexistent")
	t.Setenv("HOME", t.TempDir())
	command := check.Command(check.CriticalServices...)
	command.SetArgs([]string{"--timeout", "1s"})
	command.SilenceErrors, command.SilenceUsage = true, true
	g.Expect(command.ExecuteContext(t.Context())).To(MatchError(ContainSubstring("find the cluster")))
}
