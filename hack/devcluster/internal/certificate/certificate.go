// Package certificate is the cluster's certificate authority. Keys are ECDSA
// because they are made in microseconds where RSA takes seconds.
package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// validity is long enough for a development cluster that is never taken down;
// nothing renews these certificates.
const validity = 365 * 24 * time.Hour

// Authority signs the certificates of one cluster.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Request describes a certificate that serves both as client and as server.
type Request struct {
	// Name is the base name of the two files, .crt and .key.
	Name string
	// CommonName and Organizations are the user and the groups in Kubernetes.
	CommonName    string
	Organizations []string
	DNSNames      []string
	IPs           []string
}

// NewAuthority makes a new authority and writes ca.crt and ca.key into dir.
func NewAuthority(dir string) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template, err := newTemplate(pkix.Name{CommonName: "devcluster-ca"})
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	a := &Authority{dir: dir, cert: cert, key: key}
	if err := a.write("ca", der, key); err != nil {
		return nil, err
	}
	return a, nil
}

// LoadAuthority returns the authority that NewAuthority made in dir.
func LoadAuthority(dir string) (*Authority, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key"))
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s: the key of the authority is of the wrong kind", dir)
	}
	return &Authority{dir: dir, cert: pair.Leaf, key: key}, nil
}

// Issue writes a certificate and its key.
func (a *Authority) Issue(r Request) error {
	der, key, err := a.sign(r)
	if err != nil {
		return err
	}
	return a.write(r.Name, der, key)
}

// Server returns a server's certificate for one name without writing it.
func (a *Authority) Server(name string) (*tls.Certificate, error) {
	der, key, err := a.sign(Request{Name: name, CommonName: name, DNSNames: []string{name}})
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

func (a *Authority) sign(r Request) (der []byte, key *ecdsa.PrivateKey, err error) {
	key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template, err := newTemplate(pkix.Name{CommonName: r.CommonName, Organization: r.Organizations})
	if err != nil {
		return nil, nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	template.DNSNames = r.DNSNames
	for _, text := range r.IPs {
		ip := net.ParseIP(text)
		if ip == nil {
			return nil, nil, fmt.Errorf("certificate %s: %q is not an IP address", r.Name, text)
		}
		template.IPAddresses = append(template.IPAddresses, ip)
	}
	der, err = x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("certificate %s: %w", r.Name, err)
	}
	return der, key, nil
}

// WriteKeyPair writes a key pair without certificate, name.key and name.pub:
// what the API server signs ServiceAccount tokens with.
func WriteKeyPair(dir, name string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(dir, name+".pub"), "PUBLIC KEY", public, 0o644); err != nil {
		return err
	}
	return writeKey(filepath.Join(dir, name+".key"), key)
}

func newTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	// An hour back, for clocks that are set while the cluster runs.
	now := time.Now().Add(-time.Hour)
	return &x509.Certificate{SerialNumber: serial, Subject: subject, NotBefore: now, NotAfter: now.Add(validity)}, nil
}

func (a *Authority) write(name string, der []byte, key *ecdsa.PrivateKey) error {
	if err := writePEM(filepath.Join(a.dir, name+".crt"), "CERTIFICATE", der, 0o644); err != nil {
		return err
	}
	return writeKey(filepath.Join(a.dir, name+".key"), key)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(path, "EC PRIVATE KEY", der, 0o600)
}

func writePEM(path, kind string, der []byte, mode os.FileMode) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode)
}
