package operator_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"

	criticalv1 "github.com/critical-service/operator/api/v1"
	"github.com/critical-service/operator/internal/operator/webhook"
	"github.com/critical-service/operator/internal/operator/webhook/policy"
	"github.com/critical-service/operator/test/ports"
	"github.com/critical-service/operator/test/process"
)

// handshake connects as the API server does.
func handshake(address string, trusted []byte, name string) error {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(trusted) {
		return errors.New("no certificate to trust")
	}
	connection, err := tls.Dial("tcp", address, &tls.Config{RootCAs: pool, ServerName: name, MinVersion: tls.VersionTLS13})
	if err != nil {
		return err
	}
	return connection.Close()
}

func (w *world) authority() (*corev1.Secret, error) {
	var secret corev1.Secret
	return &secret, admin.Get(w.t.Context(), types.NamespacedName{Namespace: operatorNamespace, Name: secretOfAuthority}, &secret)
}

// converts reports whether the API server gets conversions, by creating an object
// of v1.
func (w *world) converts(name string) error {
	object := shopV1()
	object.Name = name
	return admin.Create(w.t.Context(), object)
}

func TestALostAuthorityIsReplacedWithoutARestart(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	p := w.start()
	w.Eventually(func() error { return w.converts("before") }).Should(Succeed())
	first := w.clientConfig().CABundle

	secret, err := w.authority()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(admin.Delete(t.Context(), secret)).To(Succeed())

	var second []byte
	w.Eventually(func() ([]byte, error) {
		secret, err := w.authority()
		second = secret.Data["ca.crt"]
		return second, err
	}).ShouldNot(Or(BeEmpty(), Equal(first)))
	w.Eventually(func() []byte { return w.clientConfig().CABundle }).Should(HavePrefix(string(second)))
	w.Eventually(func() error { return handshake(p.Webhook, second, "127.0.0.1") }).Should(Succeed(), "it shows a new certificate")
	w.Eventually(func() error { return w.converts("after") }).Should(Succeed())

	// A replica that has not followed yet is still trusted.
	bundle, err := cert.ParseCertsPEM(w.clientConfig().CABundle)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(bundle).To(HaveLen(2))
	w.Expect(handshake(p.Webhook, first, "127.0.0.1")).NotTo(Succeed(), "by itself the first authority is of no use any more")
}

func TestBothServersSpeakHTTP1OverTLS12OrLater(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	metrics := ports.Free(w.t)
	p := w.start("METRICS_BIND_ADDRESS=" + metrics)
	w.Eventually(p.Ready).Should(Succeed())
	for what, address := range map[string]string{"webhook": p.Webhook, "metrics": metrics} {
		speak := func(versions *tls.Config) (tls.ConnectionState, error) {
			versions.InsecureSkipVerify = true
			versions.NextProtos = []string{"h2", "http/1.1"}
			connection, err := tls.Dial("tcp", address, versions)
			if err != nil {
				return tls.ConnectionState{}, err
			}
			return connection.ConnectionState(), connection.Close()
		}
		var newest tls.ConnectionState
		w.Eventually(func() (err error) {
			newest, err = speak(&tls.Config{})
			return err
		}).Should(Succeed(), what)
		w.Expect(newest.NegotiatedProtocol).To(Equal("http/1.1"), what)
		w.Expect(newest.Version).To(BeEquivalentTo(tls.VersionTLS13), what)
		_, err := speak(&tls.Config{MaxVersion: tls.VersionTLS12}) //nolint:gosec // A client that knows no more.
		w.Expect(err).NotTo(HaveOccurred(), "%s: an API server that is built for FIPS", what)
		_, err = speak(&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}) //nolint:gosec // A client that is refused.
		w.Expect(err).To(HaveOccurred(), what)
	}
}

// Any client that reaches the port may send what it likes.
func TestBothWebhooksRefuseLargeBodies(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	p := w.start()
	w.Eventually(p.Ready).Should(Succeed())
	for _, path := range []string{webhook.Path, policy.ValidationPath} {
		connection, err := tls.Dial("tcp", p.Webhook, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // What it answers matters, and not who.
		w.Expect(err).NotTo(HaveOccurred())
		_, err = fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", path, 400<<20)
		w.Expect(err).NotTo(HaveOccurred())
		response, err := http.ReadResponse(bufio.NewReader(connection), nil)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(response.StatusCode).To(Equal(http.StatusRequestEntityTooLarge), path)
		w.Expect(response.Body.Close()).To(Succeed())
		w.Expect(connection.Close()).To(Succeed())
	}
}

// Every replica serves, also those that do not lead, and all by one authority.
func TestReplicasShareOneAuthority(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	door := ports.Free(w.t)
	one := w.start("LEADER_ELECT=true", "WEBHOOK_URL=https://"+door)
	two := w.start("LEADER_ELECT=true", "WEBHOOK_URL=https://"+door)
	for _, p := range []*process.Process{one, two} {
		w.Eventually(p.Ready).Should(Succeed())
	}
	secret, err := w.authority()
	w.Expect(err).NotTo(HaveOccurred())
	authority := secret.Data["ca.crt"]
	w.Eventually(func() []byte { return w.clientConfig().CABundle }).Should(Equal(authority))
	for _, p := range []*process.Process{one, two} {
		w.Eventually(func() error { return handshake(p.Webhook, authority, "127.0.0.1") }).Should(Succeed())
		w.Expect(convert(p.Webhook, authority)).To(Equal("mycrd.com/v2"))
	}
	version := w.definition().ResourceVersion
	w.Consistently(func() string { return w.definition().ResourceVersion }, time.Second).Should(Equal(version), "they want the same")
}

// convert asks a webhook for an object of v1 as v2, and tells what came.
func convert(address string, trusted []byte) (string, error) {
	object := shopV1()
	object.SetGroupVersionKind(criticalv1.CriticalServiceKind)
	review := apiextensionsv1.ConversionReview{Request: &apiextensionsv1.ConversionRequest{
		UID: "one", DesiredAPIVersion: "mycrd.com/v2", Objects: []runtime.RawExtension{{Object: object}},
	}}
	data, err := json.Marshal(review)
	if err != nil {
		return "", err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(trusted)
	asker := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}}}
	response, err := asker.Post("https://"+address+"/convert", "application/json", bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var answer struct {
		Response struct {
			ConvertedObjects []metav1.TypeMeta
			Result           metav1.Status
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", err
	}
	if answer.Response.Result.Status != metav1.StatusSuccess {
		return "", errors.New(answer.Response.Result.Message)
	}
	return answer.Response.ConvertedObjects[0].APIVersion, nil
}

// OLM and cert-manager bring certificates, renew them, and write the caBundle.
func TestProvidedCertificatesAreServedAsTheyAre(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	folder := t.TempDir()
	address := ports.Free(w.t)
	_, port, err := net.SplitHostPort(address)
	w.Expect(err).NotTo(HaveOccurred())
	first := w.provide(folder, address)
	before := w.definition()
	p := w.start("WEBHOOK_PORT="+port, "WEBHOOK_CERT_DIR="+folder, "WEBHOOK_URL=")
	w.Eventually(p.Ready).Should(Succeed())
	w.Eventually(func() error { return w.converts("first") }).Should(Succeed())
	w.Expect(w.definition().Spec.Conversion).To(Equal(before.Spec.Conversion))

	w.provide(folder, address)
	w.Eventually(func() error { return w.converts("second") }).Should(Succeed())
	w.Eventually(func() error { return handshake(address, first, "127.0.0.1") }).ShouldNot(Succeed(), "the new one is served")
	_, err = w.authority()
	w.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "no authority was made")
}

// What the bundle for OLM leaves out is not missed by an operator that has OLM's certificates.
func TestThePermissionsOfTheBundleSuffice(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	folder, address := t.TempDir(), ports.Free(w.t)
	_, port, err := net.SplitHostPort(address)
	w.Expect(err).NotTo(HaveOccurred())
	w.provide(folder, address)
	p := w.start("KUBECONFIG="+bundled, "LEADER_ELECT=true", "RESPONDER_IMAGE=example.com/responder:1",
		"WEBHOOK_PORT="+port, "WEBHOOK_CERT_DIR="+folder, "WEBHOOK_URL=")
	w.Eventually(p.Ready).Should(Succeed())
	w.Eventually(func() error { return w.converts("first") }).Should(Succeed())
	w.Eventually(w.observed("first")).Should(BeTrue())
	w.Eventually(func() []string { return w.definition().Status.StoredVersions }).Should(HaveExactElements("v2"))
	p.Stop()
	w.Expect(p.Log.String()).NotTo(ContainSubstring("forbidden"), "nothing is denied")
}

// Without the mount it can make no certificate with these permissions, and says so. It protects all the same.
func TestAnOperatorWithoutCertificatesSaysWhatItLacksAndGoesOn(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	p := w.start("KUBECONFIG="+bundled, "RESPONDER_IMAGE=example.com/responder:1")
	w.Eventually(p.Log.String).Should(And(ContainSubstring("the webhook has no certificate"), ContainSubstring("WEBHOOK_CERT_DIR")))
	w.Expect(admin.Create(t.Context(), selecting("unconverted", "frontend"))).To(Succeed())
	w.Eventually(w.observed("unconverted")).Should(BeTrue())
	w.Expect(p.Ready()).NotTo(Succeed(), "v1 cannot be read or written")
	p.Stop()
}

// provide puts a new certificate into a folder, and makes the API server trust it.
func (w *world) provide(folder, address string) []byte {
	w.t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(os.WriteFile(filepath.Join(folder, "tls.crt"), certificate, 0o600)).To(Succeed())
	w.Expect(os.WriteFile(filepath.Join(folder, "tls.key"), key, 0o600)).To(Succeed())
	change(w, w.definition(), func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{
			URL: new("https://" + address + "/convert"), CABundle: certificate,
		}
	})
	return certificate
}
