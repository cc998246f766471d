package transfer_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"go.etcd.io/bbolt"

	"github.com/critical-service/operator/test/ports"
	"github.com/critical-service/operator/workloads/internal/transfer"
	"github.com/critical-service/operator/workloads/internal/transfer/result"
)

// taken is a snapshot as etcd makes it.
func taken(t *testing.T, revision uint64) []byte {
	t.Helper()
	g := NewWithT(t)
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "db"), 0o600, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(db.Update(func(tx *bbolt.Tx) error {
		keys, err := tx.CreateBucket([]byte("key"))
		if err != nil {
			return err
		}
		return keys.Put(append(binary.BigEndian.AppendUint64(nil, revision), make([]byte, 9)...), []byte("value"))
	})).To(Succeed())
	var file bytes.Buffer
	g.Expect(db.View(func(tx *bbolt.Tx) error { _, err := tx.WriteTo(&file); return err })).To(Succeed())
	g.Expect(db.Close()).To(Succeed())
	digest := sha256.Sum256(file.Bytes())
	return append(file.Bytes(), digest[:]...)
}

// receiving waits for a snapshot, and is done with one.
func receiving(t *testing.T, target transfer.Target, most int64) (url string, done func() *result.Result) {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	got := make(chan *result.Result, 1)
	go func() {
		received, _ := transfer.Receive(ctx, at, nil, target, most)
		got <- received
	}()
	t.Cleanup(cancel)
	return "http://" + at.Addr().String() + transfer.Path, func() *result.Result { return <-got }
}

func send(t *testing.T, url string, content []byte) (int, string) {
	t.Helper()
	answer, err := http.Post(url, "application/octet-stream", bytes.NewReader(content)) //nolint:gosec // It is that of the test.
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return answer.StatusCode, string(text)
}

func TestOnlyASnapshotThatIsWholeIsTaken(t *testing.T) {
	g := NewWithT(t)
	folder := filepath.Join(t.TempDir(), "restore")
	whole := taken(t, 57)
	url, done := receiving(t, transfer.Target{Folder: folder, Name: "snapshot.db"}, int64(len(whole)))
	for sentence, c := range map[string]struct {
		content []byte
		code    int
		says    string
	}{
		"it was cut":      {whole[:len(whole)-100], http.StatusBadRequest, "was cut"},
		"it is no such":   {bytes.Repeat([]byte("<html>"), 100), http.StatusBadRequest, "another file"},
		"it is too large": {append(bytes.Clone(whole), 1), http.StatusRequestEntityTooLarge, "too large"},
	} {
		code, says := send(t, url, c.content)
		g.Expect(code).To(Equal(c.code), sentence)
		g.Expect(says).To(ContainSubstring(c.says), sentence)
		left, err := os.ReadDir(folder)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(left).To(BeEmpty(), sentence)
	}
	code, says := send(t, url, whole)
	g.Expect(code).To(Equal(http.StatusOK))
	var answer result.Result
	g.Expect(json.Unmarshal([]byte(says), &answer)).To(Succeed())
	g.Expect(answer).To(Equal(result.Result{File: "snapshot.db", Revision: 57, SizeBytes: int64(len(whole))}))
	g.Expect(*done()).To(Equal(answer))

	finished, err := transfer.Finish(filepath.Join(folder, "snapshot.db"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(finished.Revision).To(BeEquivalentTo(57))
	g.Expect(filepath.Join(folder, "snapshot.db")).NotTo(BeAnExistingFile())
}

func TestTheNewestSnapshotsAreKept(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	for _, other := range []string{"etcd-notes.db", "carts-7.db", "etcd-7.txt"} {
		g.Expect(os.WriteFile(filepath.Join(folder, other), nil, 0o600)).To(Succeed())
	}
	// Another cluster of the name begins at 1 again: the newest is not that of the highest revision.
	old := time.Now().Add(-time.Hour)
	for revision, name := range []string{"etcd-900.db", "etcd-901.db", "etcd-902.db"} {
		g.Expect(os.WriteFile(filepath.Join(folder, name), nil, 0o600)).To(Succeed())
		g.Expect(os.Chtimes(filepath.Join(folder, name), old, old.Add(time.Duration(revision)*time.Minute))).To(Succeed())
	}
	url, done := receiving(t, transfer.Target{Folder: folder, Name: "etcd", Keep: 3}, 1<<20)
	code, _ := send(t, url, taken(t, 5))
	g.Expect(code).To(Equal(http.StatusOK))
	g.Expect(done().File).To(Equal("etcd-5.db"))
	var names []string
	left, err := os.ReadDir(folder)
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range left {
		names = append(names, file.Name())
	}
	g.Expect(names).To(ConsistOf("etcd-notes.db", "carts-7.db", "etcd-7.txt", "etcd-5.db", "etcd-901.db", "etcd-902.db"))
}

func TestAClusterThatDoesNotAnswerIsAnError(t *testing.T) {
	g := NewWithT(t)
	_, err := transfer.Fetch(t.Context(), transfer.Source{Endpoint: "http://" + ports.Free(t)}, transfer.Target{Folder: t.TempDir(), Name: "etcd", Keep: 3}, 0)
	g.Expect(err).To(MatchError(ContainSubstring("for its revision")))
}

// signed makes a certificate in a folder, as a Secret is mounted; of its own authority without one.
func signed(t *testing.T, parent *tls.Certificate) (folder string, pair tls.Certificate) {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "etcd"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"etcd.shop.svc"}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: parent == nil,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	authority, signer := template, any(key)
	if parent != nil {
		authority, signer = parent.Leaf, parent.PrivateKey
	}
	made, err := x509.CreateCertificate(rand.Reader, template, authority, key.Public(), signer)
	g.Expect(err).NotTo(HaveOccurred())
	private, err := x509.MarshalPKCS8PrivateKey(key)
	g.Expect(err).NotTo(HaveOccurred())
	certificate, privateKey := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	pair, err = tls.X509KeyPair(certificate, privateKey)
	g.Expect(err).NotTo(HaveOccurred())
	trusted := certificate
	if parent != nil {
		trusted = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: parent.Leaf.Raw})
	}
	folder = t.TempDir()
	for name, content := range map[string][]byte{"ca.crt": trusted, "tls.crt": certificate, "tls.key": privateKey} {
		g.Expect(os.WriteFile(filepath.Join(folder, name), content, 0o600)).To(Succeed())
	}
	return folder, pair
}

// Who may send a snapshot decides what the cluster will hold.
func TestWithTLSOnlyAClientOfTheClusterSendsASnapshot(t *testing.T) {
	g := NewWithT(t)
	_, authority := signed(t, nil)
	served, _ := signed(t, &authority)
	_, ours := signed(t, &authority)
	_, foreign := signed(t, nil)
	certificates, err := transfer.Certificates(served)
	g.Expect(err).NotTo(HaveOccurred())
	at, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	folder, whole := t.TempDir(), taken(t, 9)
	got := make(chan *result.Result, 1)
	go func() {
		received, _ := transfer.Receive(t.Context(), at, certificates, transfer.Target{Folder: folder, Name: "snapshot.db"}, 1<<20)
		got <- received
	}()
	trusted := x509.NewCertPool()
	trusted.AddCert(authority.Leaf)
	post := func(shows ...tls.Certificate) (*http.Response, error) {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: "etcd.shop.svc", Certificates: shows, MinVersion: tls.VersionTLS12}}}
		return client.Post("https://"+at.Addr().String()+transfer.Path, "application/octet-stream", bytes.NewReader(whole))
	}
	for sentence, shows := range map[string][]tls.Certificate{"no certificate": nil, "one of another authority": {foreign}} {
		answer, err := post(shows...)
		if err == nil {
			_ = answer.Body.Close()
		}
		g.Expect(err).To(HaveOccurred(), sentence)
	}
	answer, err := post(ours)
	g.Expect(err).NotTo(HaveOccurred())
	_ = answer.Body.Close()
	g.Expect(answer.StatusCode).To(Equal(http.StatusOK))
	g.Expect((<-got).Revision).To(BeEquivalentTo(9))
}

func FuzzParse(f *testing.F) {
	f.Add(`{"file":"etcd-42.db","revision":42,"sizeBytes":20480}`)
	f.Add(`{"revision":-1}`)
	f.Fuzz(func(t *testing.T, message string) {
		if parsed, err := result.Parse(message); err == nil && (len(parsed.File) > result.MaxName || parsed.Revision < 0 || parsed.SizeBytes < 0) {
			t.Errorf("%+v does not fit into the status", parsed)
		}
	})
}
