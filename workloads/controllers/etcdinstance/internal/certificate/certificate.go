// Package certificate makes the certificates of a cluster: an authority of its own, and what it
// signs for members and clients.
package certificate

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"

	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
)

const (
	// authorityLifetime is beyond that of most clusters: members read their authority at the
	// start only.
	authorityLifetime = 10 * 365 * 24 * time.Hour
	lifetime          = 90 * 24 * time.Hour
	// renewal is how long before its end a certificate is renewed.
	renewal = lifetime / 3
	// skew is by how much clocks may differ.
	skew = 5 * time.Minute
)

// Data is that of a Secret with a certificate, by the keys of api/v1alpha1.
type Data map[string][]byte

// Leaf is a certificate that an authority signs.
type Leaf struct {
	// CommonName says who has it. Names and Addresses are where it is shown; none for a client.
	CommonName string
	Names      []string
	Addresses  []string
}

// NewAuthority makes an authority.
func NewAuthority(name string, now time.Time) (Data, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-skew), NotAfter: now.Add(authorityLifetime),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	made, err := sign(template, template, key, key)
	if err != nil {
		return nil, err
	}
	made[workloadsv1alpha1.KeyCA] = made[workloadsv1alpha1.KeyCertificate]
	return made, nil
}

// Sign makes a certificate that the authority vouches for. Members use theirs as clients, too.
func (d Data) Sign(leaf Leaf, now time.Time) (Data, error) {
	pair, parent, err := d.parse()
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	signer, isSigner := pair.PrivateKey.(crypto.Signer)
	if !isSigner || !parent.IsCA {
		return nil, errors.New("the certificate in it is not that of an authority")
	}
	end := now.Add(lifetime)
	if parent.NotAfter.Before(end) {
		end = parent.NotAfter
	}
	var addresses []net.IP
	for _, address := range leaf.Addresses {
		addresses = append(addresses, net.ParseIP(address))
	}
	made, err := sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: leaf.CommonName}, NotBefore: now.Add(-skew), NotAfter: end,
		DNSNames: leaf.Names, IPAddresses: addresses,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}, parent, key, signer)
	if err != nil {
		return nil, err
	}
	made[workloadsv1alpha1.KeyCA] = d[workloadsv1alpha1.KeyCertificate]
	return made, nil
}

func sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey, signer crypto.Signer) (Data, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	signed, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return Data{
		workloadsv1alpha1.KeyCertificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
		workloadsv1alpha1.KeyPrivateKey:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}, nil
}

func (d Data) parse() (tls.Certificate, *x509.Certificate, error) {
	pair, err := tls.X509KeyPair(d[workloadsv1alpha1.KeyCertificate], d[workloadsv1alpha1.KeyPrivateKey])
	if err != nil {
		return pair, nil, fmt.Errorf("read the certificate: %w", err)
	}
	return pair, pair.Leaf, nil
}

// CheckAuthority fails where no certificate can be signed with it.
func (d Data) CheckAuthority(now time.Time) error {
	_, parsed, err := d.parse()
	switch {
	case err != nil:
		return err
	case !parsed.IsCA:
		return errors.New("the certificate in it is not that of an authority")
	case now.After(parsed.NotAfter):
		return fmt.Errorf("the authority in it ended at %s", parsed.NotAfter.UTC().Format(time.RFC3339))
	default:
		return nil
	}
}

// RenewAt is when a certificate has to be made again: at once, which is zero, if it cannot be
// read, is for another name, or of another authority.
func (d Data) RenewAt(leaf Leaf, authority Data) time.Time {
	_, parsed, err := d.parse()
	if err != nil || !bytes.Equal(d[workloadsv1alpha1.KeyCA], authority[workloadsv1alpha1.KeyCertificate]) || parsed.Subject.CommonName != leaf.CommonName ||
		!slices.Equal(parsed.DNSNames, leaf.Names) {
		return time.Time{}
	}
	if _, signer, err := authority.parse(); err != nil || parsed.CheckSignatureFrom(signer) != nil {
		return time.Time{}
	}
	return parsed.NotAfter.Add(-renewal)
}

// Client is how a client shows itself to members, and knows their authority.
func (d Data) Client() (*tls.Config, error) {
	pair, _, err := d.parse()
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(d[workloadsv1alpha1.KeyCA]) {
		return nil, errors.New("there is no authority in it")
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}
