package certificate_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/certificate"
)

var (
	now  = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	leaf = certificate.Leaf{CommonName: "etcd-server", Names: []string{"etcd.shop.svc"}}
)

func authority(g Gomega) certificate.Data {
	made, err := certificate.NewAuthority("etcd-tls-ca", now)
	g.Expect(err).NotTo(HaveOccurred())
	return made
}

func TestAMemberAndAClientTrustEachOther(t *testing.T) {
	g := NewWithT(t)
	ca := authority(g)
	server, err := ca.Sign(leaf, now)
	g.Expect(err).NotTo(HaveOccurred())
	client, err := ca.Sign(certificate.Leaf{CommonName: "etcd-client"}, now)
	g.Expect(err).NotTo(HaveOccurred())
	config, err := client.Client()
	g.Expect(err).NotTo(HaveOccurred())
	shown := parse(g, server)
	_, err = shown.Verify(x509.VerifyOptions{Roots: config.RootCAs, DNSName: "etcd.shop.svc", CurrentTime: now})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = parse(g, client).Verify(x509.VerifyOptions{Roots: config.RootCAs, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = shown.Verify(x509.VerifyOptions{Roots: config.RootCAs, DNSName: "carts.shop.svc", CurrentTime: now})
	g.Expect(err).To(HaveOccurred(), "it is of one ETCDInstance")
	g.Expect(config.MinVersion).To(BeNumerically(">=", tls.VersionTLS12))
}

func parse(g Gomega, of certificate.Data) *x509.Certificate {
	block, _ := pem.Decode(of[workloadsv1alpha1.KeyCertificate])
	parsed, err := x509.ParseCertificate(block.Bytes)
	g.Expect(err).NotTo(HaveOccurred())
	return parsed
}

func TestWhenACertificateIsMadeAgain(t *testing.T) {
	g := NewWithT(t)
	ca, other := authority(g), authority(g)
	made, err := ca.Sign(leaf, now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(made.RenewAt(leaf, ca)).To(BeTemporally("~", now.Add(60*24*time.Hour), time.Hour), "when a third of its time is left")
	for sentence, again := range map[string]time.Time{
		"one of another authority":  made.RenewAt(leaf, other),
		"one that names others":     made.RenewAt(certificate.Leaf{CommonName: leaf.CommonName, Names: []string{"carts.shop.svc"}}, ca),
		"one that cannot be read":   certificate.Data{workloadsv1alpha1.KeyCertificate: []byte("?")}.RenewAt(leaf, ca),
		"one that is not there yet": certificate.Data(nil).RenewAt(leaf, ca),
	} {
		g.Expect(again).To(BeZero(), sentence)
	}
}

func TestWhatNoAuthorityIs(t *testing.T) {
	g := NewWithT(t)
	ca := authority(g)
	made, err := ca.Sign(leaf, now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ca.CheckAuthority(now)).To(Succeed())
	g.Expect(made.CheckAuthority(now)).To(MatchError(ContainSubstring("not that of an authority")))
	g.Expect(ca.CheckAuthority(now.Add(11 * 365 * 24 * time.Hour))).To(MatchError(ContainSubstring("ended at")))
	g.Expect(certificate.Data{}.CheckAuthority(now)).NotTo(Succeed())
	_, err = made.Sign(leaf, now)
	g.Expect(err).To(HaveOccurred())
}
