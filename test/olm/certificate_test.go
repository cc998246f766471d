//go:build e2e

package olm

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/webhook/policy"
)

// What OLM makes for a Deployment that serves a webhook, and how it names it.
const (
	webhookService = deploymentName + "-service"
	webhookSecret  = webhookService + "-cert"
	authorityKey   = "olmCAKey"
)

// certificateInUse waits until OLM's certificate is served by the operator, and trusted by the API
// server, and returns it.
func (w *world) certificateInUse(fits ...func(g Gomega, used *x509.Certificate)) *x509.Certificate {
	w.t.Helper()
	var used *x509.Certificate
	w.Eventually(func(g Gomega) {
		var secret corev1.Secret
		g.Expect(w.Get(w.ctx, keyOf(w.operator, webhookSecret), &secret)).To(Succeed())
		var crd apiextensionsv1.CustomResourceDefinition
		g.Expect(w.Get(w.ctx, client.ObjectKey{Name: policy.Kind.Definition()}, &crd)).To(Succeed())
		g.Expect(crd.Spec.Conversion.Strategy).To(Equal(apiextensionsv1.WebhookConverter))
		asked := crd.Spec.Conversion.Webhook.ClientConfig
		g.Expect(asked.Service.Namespace + "/" + asked.Service.Name).To(Equal(w.operator + "/" + webhookService))
		g.Expect(asked.CABundle).To(Equal(secret.Data[authorityKey]), "the authority that the API server trusts")

		used = w.served(g, webhookService, secret.Data[authorityKey])
		block, _ := pem.Decode(secret.Data[corev1.TLSCertKey])
		g.Expect(block).NotTo(BeNil())
		g.Expect(used.Raw).To(Equal(block.Bytes), "the certificate that the operator serves")
		for _, fit := range fits {
			fit(g, used)
		}
	}).WithTimeout(installLimit).Should(Succeed(), "OLM's certificate is in use")
	return used
}

// served is the certificate that the operator shows behind a Service to who trusts an authority, as the API server does.
func (w *world) served(g Gomega, name string, authority []byte) *x509.Certificate {
	var service corev1.Service
	g.Expect(w.Get(w.ctx, keyOf(w.operator, name), &service)).To(Succeed())
	trusted := x509.NewCertPool()
	g.Expect(trusted.AppendCertsFromPEM(authority)).To(BeTrue())
	dialer := &tls.Dialer{
		NetDialer: &net.Dialer{Timeout: 5 * time.Second},
		Config:    &tls.Config{RootCAs: trusted, ServerName: name + "." + w.operator + ".svc", MinVersion: tls.VersionTLS12},
	}
	connection, err := dialer.DialContext(w.ctx, "tcp", net.JoinHostPort(service.Spec.ClusterIP, "443"))
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = connection.Close() }()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0]
}

// refuses waits until the operator refuses what the schema cannot: the API server does without its
// validation while it cannot reach it, or does not trust it.
func (w *world) refuses() {
	w.t.Helper()
	w.Eventually(func() error {
		return w.Create(w.ctx, &criticalv2.CriticalService{
			ObjectMeta: metav1.ObjectMeta{Name: w.shops + "-invalid"},
			Spec:       criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchLabels: labels{"role": "a b"}}},
		}, client.DryRunAll)
	}).Should(MatchError(ContainSubstring("a valid label must be")), "a selector that cannot match")
}

// agesCertificate makes OLM's certificate one that ends within hours. OLM renews it on the day before.
func (w *world) agesCertificate() {
	w.t.Helper()
	certificate, key, err := certutil.GenerateSelfSignedCertKeyWithOptions(certutil.SelfSignedCertKeyOptions{
		Host: webhookService + "." + w.operator + ".svc", MaxAge: 12 * time.Hour,
	})
	w.Expect(err).NotTo(HaveOccurred())
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name = w.operator, webhookSecret
	change(w, secret, func(s *corev1.Secret) {
		s.Data = map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key, authorityKey: certificate}
	})
}
