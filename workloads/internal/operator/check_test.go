package operator_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/operator/check"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/internal/operator"
)

// checked is what `manager check` reports, and why it fails.
func (w *world) checked(timeout time.Duration) (string, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), timeout)
	defer cancel()
	var report bytes.Buffer
	err := check.Webhooks(ctx, cluster.Admin, metav1.NamespaceDefault, &report, operator.Webhooks...)
	return report.String(), err
}

func TestTheCheckSucceedsWhereTheAPIServerReachesTheWebhookAndCreatesNothing(t *testing.T) {
	w := newWorld(t)
	p := w.start("LEADER_ELECT=true", "POD_NAME=workloads-1")
	w.Eventually(p.Ready).Should(Succeed())
	report, err := w.checked(time.Minute)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(report).To(Equal("conversion: the API server reaches the operator's webhook\n"))
	var list workloadsv2.AppConfigList
	w.Expect(cluster.Client.List(t.Context(), &list, client.InNamespace(metav1.NamespaceDefault))).To(Succeed())
	w.Expect(list.Items).To(BeEmpty())

	p.Stop()
	_, err = w.checked(3 * time.Second)
	w.Expect(err).To(MatchError(And(HavePrefix("conversion: "), ContainSubstring("the API server must reach the port webhook"))))
}
