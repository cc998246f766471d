package operator_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/metrictable"
	"github.com/critical-service/operator/test/ports"
	"github.com/critical-service/operator/test/process"
)

// tokenOf makes a ServiceAccount, and a token of it.
func (w *world) tokenOf(name string) string {
	w.t.Helper()
	token, err := process.TokenOf(w.t.Context(), adminConfig, operatorNamespace, name)
	w.Expect(err).NotTo(HaveOccurred())
	return token
}

func TestMetricsAreServedToThoseWhoMayReadThem(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	address := ports.Free(w.t)
	w.start("METRICS_BIND_ADDRESS=" + address)
	url := "https://" + address + "/metrics"
	status := func(token string) func() int {
		return func() int { status, _ := process.Scrape(url, token); return status }
	}
	w.Eventually(status("")).Should(Equal(http.StatusUnauthorized), "without a token")
	w.Expect(status("made-up")()).To(Equal(http.StatusUnauthorized), "with an invalid one")
	token := w.tokenOf("prometheus")
	w.Eventually(status(token)).Should(Equal(http.StatusForbidden), "without the right")

	role := &rbacv1.ClusterRole{}
	w.Expect(read("../../config/rbac/metrics_reader_role.yaml", role)).To(Succeed())
	borrow(w.t, role)
	borrow(w.t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "prometheus"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: operatorNamespace, Name: "prometheus"}},
	})
	w.Eventually(status(token)).Should(Equal(http.StatusOK), "with the right")

	served := func() string { _, body := process.Scrape(url, token); return body }
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

// Every Pod of the cluster can do this.
func TestScrapersAreAnsweredBesideClientsThatStay(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	address := ports.Free(w.t)
	w.start("METRICS_BIND_ADDRESS=" + address)
	status := func() int { status, _ := process.Scrape("https://"+address+"/metrics", ""); return status }
	w.Eventually(status).Should(Equal(http.StatusUnauthorized))

	const clients, stay = 500, 64
	closed := make(chan struct{}, clients)
	for range clients {
		conn, err := net.Dial("tcp", address)
		w.Expect(err).NotTo(HaveOccurred())
		w.t.Cleanup(func() { _ = conn.Close() })
		go func() {
			_, _ = io.Copy(io.Discard, conn)
			closed <- struct{}{}
		}()
	}
	// Sooner than the handshake times out.
	w.Eventually(closed).WithTimeout(20*time.Second).Should(HaveLen(clients-stay), "they give way to those that come")
	w.Expect(status()).To(Equal(http.StatusUnauthorized))
}

func TestMetricsMayBeServedToEverybody(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	address := ports.Free(w.t)
	w.start("METRICS_BIND_ADDRESS="+address, "METRICS_SECURE=false")
	w.Eventually(func() string { _, body := process.Scrape("http://"+address+"/metrics", ""); return body }).
		Should(ContainSubstring("critical_service_operator_build_info{"))
}

func TestMetricsAreServedWithTheCertificateThatIsGiven(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	w.Expect(err).NotTo(HaveOccurred())
	folder, address := w.t.TempDir(), ports.Free(w.t)
	w.Expect(os.WriteFile(filepath.Join(folder, "tls.crt"), certificate, 0o600)).To(Succeed())

	p := w.start("METRICS_BIND_ADDRESS="+address, "METRICS_CERT_DIR="+folder)
	w.Eventually(p.Ended).Should(Receive(HaveOccurred()), "half of it is no certificate")
	p.Kill = nil
	w.Expect(p.Log.String()).To(And(ContainSubstring("METRICS_CERT_DIR"), ContainSubstring("tls.key")))

	w.Expect(os.WriteFile(filepath.Join(folder, "tls.key"), key, 0o600)).To(Succeed())
	w.start("METRICS_BIND_ADDRESS="+address, "METRICS_CERT_DIR="+folder)
	w.Eventually(func() error { return handshake(address, certificate, "127.0.0.1") }).Should(Succeed())
}

// Of several replicas, only the leader has metrics about Services.
func TestOneReplicaReportsServices(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	replicas, webhook := map[string]*process.Process{}, "https://"+ports.Free(w.t)
	for range 2 {
		address := ports.Free(w.t)
		// One URL for both, as they have one Service in a cluster: neither must correct the other.
		replicas[address] = w.start("METRICS_BIND_ADDRESS="+address, "METRICS_SECURE=false", "LEADER_ELECT=true", "WEBHOOK_URL="+webhook)
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "measured", Labels: map[string]string{"role": "measured"}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "measured"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	borrow(w.t, service)
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
				if _, body := process.Scrape("http://"+address+"/metrics", ""); strings.Contains(body, of) {
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

	w.Expect(replicas[first].Kill(syscall.SIGTERM)).To(Succeed())
	w.Eventually(replicas[first].Ended).Should(Receive(Not(HaveOccurred())))
	replicas[first].Kill = nil
	w.Eventually(leaders).Should(And(HaveLen(1), Not(ContainElement(first))))
	w.Eventually(tellers).Should(And(HaveLen(1), Not(ContainElement(first))))
}
