package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
)

func TestIssue(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	authority, err := NewAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	request := Request{
		Name: "server", CommonName: "system:node:node1", Organizations: []string{"system:nodes"},
		DNSNames: []string{"node1"}, IPs: []string{"10.0.0.1"},
	}
	if err := authority.Issue(request); err != nil {
		t.Fatal(err)
	}

	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key"))
	if err != nil {
		t.Fatalf("certificate and key do not fit: %v", err)
	}
	caPEM, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(caPEM) {
		t.Fatal("the authority's certificate is not readable")
	}
	for name, usage := range map[string]x509.ExtKeyUsage{"as a client": x509.ExtKeyUsageClientAuth, "as a server": x509.ExtKeyUsageServerAuth} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
			t.Errorf("not trusted %s: %v", name, err)
		}
	}
	for _, host := range []string{"node1", "10.0.0.1"} {
		if err := pair.Leaf.VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
	if subject := pair.Leaf.Subject; subject.CommonName != request.CommonName || len(subject.Organization) != 1 || subject.Organization[0] != "system:nodes" {
		t.Errorf("Kubernetes would take the owner for %s", subject)
	}
	info, err := os.Stat(filepath.Join(dir, "server.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("everybody may read the key: %v %v", info.Mode(), err)
	}
}

func TestIssueRefusesWhatIsNoAddress(t *testing.T) {
	authority, err := NewAuthority(filepath.Join(t.TempDir(), "pki"))
	if err != nil {
		t.Fatal(err)
	}
	if err := authority.Issue(Request{Name: "x", IPs: []string{"node1"}}); err == nil {
		t.Error("a certificate without its address was issued")
	}
}

func TestALoadedAuthorityIsTheSame(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	original, err := NewAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := LoadAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := loaded.Server("quay.io")
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(original.cert)
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "quay.io"}); err != nil {
		t.Errorf("who trusts the authority does not trust what it signs after it was loaded: %v", err)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "docker.io"}); err == nil {
		t.Error("a certificate stands for another name than that which was asked for")
	}
	if _, err := LoadAuthority(t.TempDir()); err == nil {
		t.Error("an authority was loaded from an empty folder")
	}
}
