package members_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/testenv"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/internal/apiserver/members"
)

// waiting is an instance that waits for a snapshot.
func waiting() *workloadsv1alpha1.ETCDInstance {
	instance := &workloadsv1alpha1.ETCDInstance{ObjectMeta: metav1.ObjectMeta{Namespace: named.Namespace, Name: named.Name, UID: "1"}}
	instance.Spec.Restore = &workloadsv1alpha1.ETCDRestore{Upload: true}
	instance.Status.Conditions = []metav1.Condition{{
		Type: workloadsv1alpha1.ConditionRestored, Status: metav1.ConditionFalse, Reason: workloadsv1alpha1.ReasonWaitingForUpload,
	}}
	return instance
}

// receiving is its Pod.
func receiving() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: named.Namespace, Name: "e-restore", OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(waiting(), workloadsv1alpha1.ETCDInstanceKind),
		}},
		Status: corev1.PodStatus{PodIP: "10.1.2.3"},
	}
}

func reaching(t *testing.T, host string, objects ...client.Object) *members.Members {
	t.Helper()
	return &members.Members{Reader: builder(t, objects...).Build(), Receives: func(*corev1.Pod) string { return host }}
}

func TestWhoTakesASnapshot(t *testing.T) {
	changed := func(change func(*workloadsv1alpha1.ETCDInstance)) *workloadsv1alpha1.ETCDInstance {
		instance := waiting()
		change(instance)
		return instance
	}
	for sentence, test := range map[string]struct {
		instance *workloadsv1alpha1.ETCDInstance
		pod      func(*corev1.Pod)
		says     string
	}{
		"one that waits for it":  {waiting(), nil, ""},
		"none that begins empty": {changed(func(e *workloadsv1alpha1.ETCDInstance) { e.Spec.Restore = nil }), nil, "spec.restore.upload: true"},
		"none that begins with the data of another": {
			changed(func(e *workloadsv1alpha1.ETCDInstance) {
				e.Spec.Restore = &workloadsv1alpha1.ETCDRestore{FromInstance: "x"}
			}), nil, "spec.restore.upload: true",
		},
		"none that is new": {changed(func(e *workloadsv1alpha1.ETCDInstance) { e.Status.Conditions = nil }), nil, "does not wait for one yet; retry"},
		"none that has its data": {
			changed(func(e *workloadsv1alpha1.ETCDInstance) { e.Status.Conditions[0].Status = metav1.ConditionTrue }), nil, "restored already",
		},
		"none that restores another snapshot": {
			changed(func(e *workloadsv1alpha1.ETCDInstance) {
				e.Status.Conditions[0].Reason, e.Status.Conditions[0].Message = workloadsv1alpha1.ReasonRestorePending, "The snapshot is being restored."
			}), nil, "not wait for one now: The snapshot is being restored.",
		},
		"none whose Pod is gone":           {waiting(), func(pod *corev1.Pod) { pod.Name = "other" }, "its Pod shop/e-restore does not run; retry"},
		"none whose Pod has no address":    {waiting(), func(pod *corev1.Pod) { pod.Status.PodIP = "" }, "its Pod shop/e-restore does not run; retry"},
		"no Pod that only has its name":    {waiting(), func(pod *corev1.Pod) { pod.OwnerReferences = nil }, "its Pod shop/e-restore does not run; retry"},
		"no Pod of one that was before it": {waiting(), func(pod *corev1.Pod) { pod.OwnerReferences[0].UID = "0" }, "its Pod shop/e-restore does not run; retry"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			pod := receiving()
			if test.pod != nil {
				test.pod(pod)
			}
			_, err := reaching(t, "", test.instance, pod).Receiver(t.Context(), named)
			if test.says == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(test.says)))
		})
	}
	t.Run("none that does not exist", func(t *testing.T) {
		_, err := reaching(t, "").Receiver(t.Context(), named)
		NewWithT(t).Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
	})
}

func TestWhatThePodSays(t *testing.T) {
	for sentence, test := range map[string]struct {
		code int
		body string
		says string
	}{
		"it has taken it":                      {http.StatusNoContent, "", ""},
		"its volume is full":                   {http.StatusInsufficientStorage, "the volume is full\n", `it answered 507 "the volume is full"`},
		"it is not followed to somewhere else": {http.StatusTemporaryRedirect, "", "it answered 307"},
		"and no more is read than it takes":    {http.StatusConflict, strings.Repeat("x\x1b", 1<<20), `409 "x\x1bx`},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			var got, path string
			pod := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got, path = string(body), r.Method+" "+r.URL.Path
				w.Header().Set("Location", "http://example.com/")
				w.WriteHeader(test.code)
				_, _ = io.WriteString(w, test.body)
			}))
			t.Cleanup(pod.Close)
			receiver, err := reaching(t, strings.TrimPrefix(pod.URL, "http://"), waiting(), receiving()).Receiver(t.Context(), named)
			g.Expect(err).NotTo(HaveOccurred())
			err = receiver(t.Context(), strings.NewReader("snapshot"))
			g.Expect(got).To(Equal("snapshot"))
			g.Expect(path).To(Equal("POST /snapshot"))
			if test.says == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(apierrors.IsServiceUnavailable(err)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(test.says)))
			g.Expect(len(err.Error())).To(BeNumerically("<", 4096))
		})
	}
}

// The Pod has the certificate of a member, and wants that of a client.
func TestASnapshotIsSentOverTLS(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	g.Expect(testenv.IssueCertificate(folder, "server", &x509.Certificate{
		DNSNames: []string{"e.shop.svc"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})).To(Succeed())
	read := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join(folder, name))
		g.Expect(err).NotTo(HaveOccurred())
		return content
	}
	pair, err := tls.X509KeyPair(read("server.crt"), read("server.key"))
	g.Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(read("ca.crt"))
	pod := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
	pod.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
	pod.StartTLS()
	t.Cleanup(pod.Close)
	instance := waiting()
	instance.Spec.WithTLSBundle = true
	secret := func(authority []byte) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: named.Namespace, Name: "e-tls-client"},
			Data:       map[string][]byte{"tls.crt": read("server.crt"), "tls.key": read("server.key"), "ca.crt": authority},
		}
	}
	send := func(authority []byte) error {
		receiver, err := reaching(t, strings.TrimPrefix(pod.URL, "https://"), instance, receiving(), secret(authority)).Receiver(t.Context(), named)
		g.Expect(err).NotTo(HaveOccurred())
		return receiver(t.Context(), strings.NewReader("snapshot"))
	}
	g.Expect(send(read("ca.crt"))).To(Succeed())
	other := t.TempDir()
	g.Expect(testenv.IssueCertificate(other, "server", &x509.Certificate{})).To(Succeed())
	authority, err := os.ReadFile(filepath.Join(other, "ca.crt"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(send(authority)).To(MatchError(ContainSubstring("certificate signed by unknown authority")), "it goes to no one else")
}
