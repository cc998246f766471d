package operator_test

import (
	"net/http"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/internal/operator/webhook"
	"github.com/critical-service/operator/test/ports"
	"github.com/critical-service/operator/test/process"
	"github.com/critical-service/operator/workloads/internal/operator"
)

// The role is generated from the markers in the code: what is not in it is refused here.
func TestTheOperatorRunsWithThePermissionsThatItIsGiven(t *testing.T) {
	w := newWorld(t)
	p := w.start("LEADER_ELECT=true", "POD_NAME=workloads-1")
	w.Eventually(p.Ready).Should(Succeed())
	w.Expect(p.Live()).To(Succeed())
	w.Eventually(w.holder).Should(Equal("workloads-1"), "it leads by a Lease of its own name")

	clientConfig := func() *apiextensionsv1.WebhookClientConfig {
		var crd apiextensionsv1.CustomResourceDefinition
		w.Expect(cluster.Client.Get(t.Context(), types.NamespacedName{Name: operator.Webhook.Kind.Definition()}, &crd)).To(Succeed())
		return crd.Spec.Conversion.Webhook.ClientConfig
	}
	w.Eventually(clientConfig).Should(HaveField("URL", HaveValue(Equal("https://"+p.Webhook+webhook.Path))), "the API server converts by it")
	var secret corev1.Secret
	authority := types.NamespacedName{Namespace: operator.Namespace, Name: "critical-service-workloads-webhook-ca"}
	w.Expect(cluster.Client.Get(t.Context(), authority, &secret)).To(Succeed())
	w.Expect(clientConfig().CABundle).To(Equal(secret.Data["ca.crt"]), "and trusts its authority")

	p.Stop()
	w.Expect(p.Log.String()).NotTo(ContainSubstring("forbidden"), "nothing is denied")
	w.Expect(w.holder()).To(BeEmpty(), "the next leader need not wait")
}

func TestMetricsAreServedToThoseWhoMayReadThem(t *testing.T) {
	w := newWorld(t)
	address := ports.Free(t)
	w.start("METRICS_BIND_ADDRESS=" + address)
	url := "https://" + address + "/metrics"
	status := func(token string) func() int {
		return func() int { status, _ := process.Scrape(url, token); return status }
	}
	w.Eventually(status("")).Should(Equal(http.StatusUnauthorized), "without a token")
	token, err := process.TokenOf(t.Context(), cluster.Admin, operator.Namespace, "prometheus")
	w.Expect(err).NotTo(HaveOccurred())
	w.Eventually(status(token)).Should(Equal(http.StatusForbidden), "without the right")

	// testenv has installed the role that config/rbac has for this.
	w.create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "prometheus"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "critical-service-workloads-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: operator.Namespace, Name: "prometheus"}},
	})
	w.Eventually(status(token)).Should(Equal(http.StatusOK), "with the right")
	w.Eventually(func() string { _, body := process.Scrape(url, token); return body }).Should(And(
		ContainSubstring("critical_service_workloads_build_info{"), ContainSubstring("critical_service_workloads_leader 1\n"),
		ContainSubstring("critical_service_webhook_certificate_expiry_timestamp_seconds")))
}

// One replica acts. Where it is lost, the other one follows.
func TestAnotherReplicaFollowsALeaderThatIsLost(t *testing.T) {
	w := newWorld(t)
	url := "WEBHOOK_URL=https://" + ports.Free(t) // As of one Service: neither corrects the other.
	first := w.start("LEADER_ELECT=true", "POD_NAME=workloads-1", url)
	w.Eventually(w.holder).Should(Equal("workloads-1"))
	metrics := ports.Free(t)
	second := w.start("LEADER_ELECT=true", "POD_NAME=workloads-2", url, "METRICS_SECURE=false", "METRICS_BIND_ADDRESS="+metrics)
	w.Eventually(second.Ready).Should(Succeed(), "a replica that does not lead is ready to")
	served := func() string { _, body := process.Scrape("http://"+metrics+"/metrics", ""); return body }
	w.Eventually(served).Should(ContainSubstring("critical_service_workloads_leader 0\n"))
	w.Expect(w.holder()).To(Equal("workloads-1"))

	first.Die()
	w.Eventually(w.holder).Should(Equal("workloads-2"))
	w.Eventually(served).Should(ContainSubstring("critical_service_workloads_leader 1\n"))
}

// What is installed and what the operator keeps up to date are the same object.
func TestTheCodeAndTheManifestsNameTheSame(t *testing.T) {
	g := NewWithT(t)
	data, err := os.ReadFile("../../config/crd/patches/conversion.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	var crd apiextensionsv1.CustomResourceDefinition
	g.Expect(yaml.Unmarshal(data, &crd)).To(Succeed())
	g.Expect(crd.Name).To(Equal(operator.Webhook.Kind.Definition()))
	reached := crd.Spec.Conversion.Webhook.ClientConfig.Service
	g.Expect(reached.Name).To(Equal(operator.Webhook.Service))
	g.Expect(reached.Namespace).To(Equal(operator.Namespace))
	g.Expect(*reached.Path).To(Equal(webhook.Path))
}
