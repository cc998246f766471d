package operator_test

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/metrictable"
)

// scrape asks for metrics, with a token if there is one.
func scrape(w *world, url, token string) (status int, body string) {
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, url, http.NoBody)
	w.Expect(err).NotTo(HaveOccurred())
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	// The certificate is made for no particular name, so that it cannot be verified.
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // See above.
	}}
	answer, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	w.Expect(err).NotTo(HaveOccurred())
	return answer.StatusCode, string(text)
}

// tokenOf makes a ServiceAccount, and a token of it.
func (w *world) tokenOf(name string) string {
	w.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: name}}
	w.Expect(admin.Create(w.t.Context(), account)).To(Succeed())
	clients, err := kubernetes.NewForConfig(adminConfig)
	w.Expect(err).NotTo(HaveOccurred())
	granted, err := clients.CoreV1().ServiceAccounts(operatorNamespace).CreateToken(w.t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	return granted.Status.Token
}

func TestMetricsAreServedToThoseWhoMayReadThem(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	address := freeAddress(w)
	w.start("METRICS_BIND_ADDRESS=" + address)
	url := "https://" + address + "/metrics"
	status := func(token string) func() int {
		return func() int { status, _ := scrape(w, url, token); return status }
	}
	w.Eventually(status("")).Should(Equal(http.StatusUnauthorized), "without a token")
	w.Expect(status("made-up")()).To(Equal(http.StatusUnauthorized), "with an invalid one")
	token := w.tokenOf("prometheus")
	w.Eventually(status(token)).Should(Equal(http.StatusForbidden), "without the right")

	role := &rbacv1.ClusterRole{}
	w.Expect(read("../../config/rbac/metrics_reader_role.yaml", role)).To(Succeed())
	w.Expect(admin.Create(w.t.Context(), role)).To(Succeed())
	w.Expect(admin.Create(w.t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "prometheus"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: operatorNamespace, Name: "prometheus"}},
	})).To(Succeed())
	w.Eventually(status(token)).Should(Equal(http.StatusOK), "with the right")

	served := func() string { _, body := scrape(w, url, token); return body }
	w.Eventually(served).Should(ContainSubstring("critical_service_webhook_certificate_expiry_timestamp_seconds"), "once it has a certificate")
	w.Eventually(served).Should(ContainSubstring("critical_service_operator_leader 1\n"), "no other replica acts")
	families := metrictable.Parse(w, []byte(served()))
	metrictable.Lint(w, families)
	var itself []*dto.MetricFamily
	for _, family := range families {
		if name := family.GetName(); strings.HasPrefix(name, "critical_service_operator_") || strings.HasPrefix(name, "critical_service_webhook_") {
			itself = append(itself, family)
		}
	}
	metrictable.Check(w, "The operator itself", itself)
}

func TestMetricsMayBeServedToEverybody(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	address := freeAddress(w)
	w.start("METRICS_BIND_ADDRESS="+address, "METRICS_SECURE=false")
	w.Eventually(func() string { _, body := scrape(w, "http://"+address+"/metrics", ""); return body }).
		Should(ContainSubstring("critical_service_operator_build_info{"))
}

func TestMetricsAreServedWithTheCertificateThatIsGiven(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	w.Expect(err).NotTo(HaveOccurred())
	folder, address := w.t.TempDir(), freeAddress(w)
	w.Expect(os.WriteFile(filepath.Join(folder, "tls.crt"), certificate, 0o600)).To(Succeed())

	p := w.start("METRICS_BIND_ADDRESS="+address, "METRICS_CERT_DIR="+folder)
	w.Eventually(p.ended).Should(Receive(HaveOccurred()), "half of it is no certificate")
	p.kill = nil
	w.Expect(p.log.String()).To(And(ContainSubstring("METRICS_CERT_DIR"), ContainSubstring("tls.key")))

	w.Expect(os.WriteFile(filepath.Join(folder, "tls.key"), key, 0o600)).To(Succeed())
	w.start("METRICS_BIND_ADDRESS="+address, "METRICS_CERT_DIR="+folder)
	w.Eventually(func() error { return handshake(address, certificate, "127.0.0.1") }).Should(Succeed())
}

// Of several replicas, only the leader has metrics about Services.
func TestOneReplicaReportsServices(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	replicas, webhook := map[string]*process{}, "https://"+freeAddress(w)
	for range 2 {
		address := freeAddress(w)
		// One URL for both, as they have one Service in a cluster: neither must correct the other.
		replicas[address] = w.start("METRICS_BIND_ADDRESS="+address, "METRICS_SECURE=false", "LEADER_ELECT=true", "WEBHOOK_URL="+webhook)
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "measured", Labels: map[string]string{"role": "measured"}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "measured"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	w.Expect(admin.Create(w.t.Context(), service)).To(Succeed())
	w.t.Cleanup(func() { w.Expect(admin.Delete(context.WithoutCancel(w.t.Context()), service)).To(Succeed()) })
	w.Eventually(func() error {
		return admin.Create(w.t.Context(), &criticalv2.CriticalService{
			ObjectMeta: metav1.ObjectMeta{Name: "measured"},
			Spec: criticalv2.CriticalServiceSpec{
				ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "measured"}},
				ProtectionSpec:  criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{}}},
			},
		})
	}).Should(Succeed())

	// tell lists the replicas that say something.
	tell := func(of string) func() []string {
		return func() []string {
			var found []string
			for address := range replicas {
				if _, body := scrape(w, "http://"+address+"/metrics", ""); strings.Contains(body, of) {
					found = append(found, address)
				}
			}
			return found
		}
	}
	leaders, tellers := tell("critical_service_operator_leader 1\n"), tell(`critical_service_state{critical_service="measured",`)
	w.Eventually(leaders).Should(HaveLen(1))
	w.Eventually(tell("critical_service_operator_leader 0\n")).Should(HaveLen(1))
	first := leaders()[0]
	w.Eventually(tellers).Should(ConsistOf(first))

	w.Expect(replicas[first].kill(syscall.SIGTERM)).To(Succeed())
	w.Eventually(replicas[first].ended).Should(Receive(Not(HaveOccurred())))
	replicas[first].kill = nil
	w.Eventually(leaders).Should(And(HaveLen(1), Not(ContainElement(first))))
	w.Eventually(tellers).Should(And(HaveLen(1), Not(ContainElement(first))))
}
