package testenv

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// frontProxy is the name by which the API server is known to aggregated APIs.
const frontProxy = "front-proxy"

// configure sets the flags of an installation, and returns the folder with the certificate for
// aggregated APIs, if it has any.
func (i *Installation) configure(server *envtest.APIServer) (folder string, err error) {
	flags := server.Configure()
	for name, value := range i.Flags {
		flags.Set(name, value)
	}
	if !i.Aggregates {
		return "", nil
	}
	if folder, err = os.MkdirTemp("", "front-proxy-"); err != nil {
		return "", err
	}
	if err := IssueCertificate(folder, frontProxy, &x509.Certificate{
		Subject: pkix.Name{CommonName: frontProxy}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return "", errors.Join(err, os.RemoveAll(folder))
	}
	flags.Set("requestheader-client-ca-file", filepath.Join(folder, "ca.crt")).
		Set("requestheader-allowed-names", frontProxy).
		Set("requestheader-username-headers", "X-Remote-User").
		Set("requestheader-group-headers", "X-Remote-Group").
		Set("requestheader-extra-headers-prefix", "X-Remote-Extra-").
		Set("proxy-client-cert-file", filepath.Join(folder, frontProxy+".crt")).
		Set("proxy-client-key-file", filepath.Join(folder, frontProxy+".key"))
	return folder, nil
}

// IssueCertificate writes a certificate, and the authority that has signed it, into a folder:
// ca.crt, and the files of a name.
func IssueCertificate(folder, file string, template *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of " + file},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(2), authority.NotBefore, authority.NotAfter
	template.KeyUsage = x509.KeyUsageDigitalSignature
	private, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return err
	}
	return errors.Join(
		sign(filepath.Join(folder, "ca.crt"), authority, authority, key),
		sign(filepath.Join(folder, file+".crt"), template, authority, key),
		os.WriteFile(filepath.Join(folder, file+".key"), private, 0o600),
	)
}

// sign writes a certificate. Both have one key: only tests trust them.
func sign(name string, template, by *x509.Certificate, key crypto.Signer) error {
	data, err := x509.CreateCertificate(rand.Reader, template, by, key.Public(), key)
	if err != nil {
		return err
	}
	made, err := x509.ParseCertificate(data)
	if err != nil {
		return err
	}
	encoded, err := cert.EncodeCertificates(made)
	if err != nil {
		return err
	}
	return os.WriteFile(name, encoded, 0o600)
}
