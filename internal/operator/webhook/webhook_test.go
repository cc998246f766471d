package webhook

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/crdcache"
)

// ofCore are the options of the core, whose manifests are compared with what is written.
var ofCore = Options{
	Service:    "critical-service-webhook",
	Kind:       crdcache.Kind{GroupVersionKind: criticalv2.CriticalServiceKind, Plural: "criticalservices"},
	Validation: Validation{Name: "validate.criticalservices.mycrd.com", Path: "/validate-mycrd-com-v2-criticalservice"},
}

// authorityName is the subject of the certificate of our authority.
var authorityName = ofCore.authority()

// at are the options of an operator in a namespace.
func at(namespace string) Options {
	options := ofCore
	options.Namespace = namespace
	return options
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// anAuthority makes an authority that is valid for a time from a moment on.
func anAuthority(t *testing.T, name string, from time.Time, lifetime time.Duration) []byte {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: from, NotAfter: from.Add(lifetime),
		IsCA: true, BasicConstraintsValid: true,
	}
	data, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	made, err := x509.ParseCertificate(data)
	g.Expect(err).NotTo(HaveOccurred())
	encoded, err := cert.EncodeCertificates(made)
	g.Expect(err).NotTo(HaveOccurred())
	return encoded
}

func TestWhoTheAPIServerTrusts(t *testing.T) {
	day := 24 * time.Hour
	current := anAuthority(t, authorityName, noon.Add(-day), 10*day)
	previous := anAuthority(t, authorityName, noon.Add(-2*day), 10*day)
	oldest := anAuthority(t, authorityName, noon.Add(-3*day), 10*day)
	expired := anAuthority(t, authorityName, noon.Add(-2*day), day)
	foreign := anAuthority(t, "cert-manager", noon.Add(-2*day), 10*day)
	all := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

	for sentence, test := range map[string]struct{ found, want []byte }{
		"the authority, if none was trusted":       {nil, current},
		"the authority alone, if it was already":   {current, current},
		"the one before it too":                    {previous, all(current, previous)},
		"the same if all is as it should be":       {all(current, previous), all(current, previous)},
		"the same whatever the order was":          {all(previous, current), all(current, previous)},
		"of several before it only the newest":     {all(oldest, previous), all(current, previous)},
		"none that is expired":                     {all(current, expired), current},
		"none that is not ours":                    {all(foreign, current), current},
		"none because of what cannot even be read": {[]byte("nonsense"), current},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			got, err := ofCore.bundle(current, test.found, noon)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(got)).To(Equal(string(test.want)))
		})
	}
	t.Run("not an authority that cannot be read", func(t *testing.T) {
		_, err := ofCore.bundle([]byte("nonsense"), current, noon)
		NewWithT(t).Expect(err).To(HaveOccurred())
	})
}

func TestWhatTheFolderHolds(t *testing.T) {
	for sentence, test := range map[string]struct {
		files    []string
		provided bool
		problem  string
	}{
		"a certificate and its key are served": {files: []string{certificateFile, keyFile}, provided: true},
		"nothing, so that they are made":       {},
		"other things, which say nothing":      {files: []string{"ca.crt"}},
		"a certificate without its key":        {files: []string{certificateFile}, problem: "only one of tls.crt and tls.key"},
		"a key without its certificate":        {files: []string{keyFile}, problem: "only one of tls.crt and tls.key"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			folder := t.TempDir()
			for _, file := range test.files {
				g.Expect(os.WriteFile(filepath.Join(folder, file), nil, 0o600)).To(Succeed())
			}
			provided, err := holdsCertificate(folder)
			g.Expect(provided).To(Equal(test.provided))
			if test.problem == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(test.problem)))
			}
		})
	}
	t.Run("it need not exist", func(t *testing.T) {
		g := NewWithT(t)
		provided, err := holdsCertificate(filepath.Join(t.TempDir(), "nowhere"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(provided).To(BeFalse())
	})
}

// The code, the Service, the Deployment and the CustomResourceDefinition name the
// same things.
func TestTheManifestsAgree(t *testing.T) {
	g := NewWithT(t)
	manifest := func(file string, into any) {
		data, err := os.ReadFile(filepath.Join("../../../config", file))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(yaml.Unmarshal(data, into)).To(Succeed())
	}
	var service corev1.Service
	manifest("webhook/service.yaml", &service)
	g.Expect(service.Name).To(Equal(ofCore.Service))
	g.Expect(service.Spec.Ports[0].Port).To(BeEquivalentTo(servicePort))
	g.Expect(service.Spec.PublishNotReadyAddresses).To(BeFalse(), "a Pod that ends must not be asked any more")

	var deployment struct {
		Spec struct{ Template corev1.PodTemplateSpec }
	}
	manifest("manager/manager.yaml", &deployment)
	pod := deployment.Spec.Template
	g.Expect(pod.Labels).To(Equal(service.Spec.Selector))
	g.Expect(pod.Spec.Containers[0].Ports).To(ContainElement(HaveField("Name", service.Spec.Ports[0].TargetPort.StrVal)))

	var crd apiextensionsv1.CustomResourceDefinition
	manifest("crd/patches/conversion.yaml", &crd)
	g.Expect(crd.Name).To(Equal(ofCore.Kind.Definition()))
	wanted := crd.DeepCopy()
	pointAtConversion(wanted, at(service.Namespace), "", nil)
	g.Expect(&crd).To(Equal(wanted), "the operator has nothing to change but the caBundle")

	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	manifest("webhook/manifests.yaml", &configuration)
	g.Expect(configuration.Name).To(Equal(ofCore.Service))
	g.Expect(configuration.Webhooks).To(HaveLen(1))
	found := configuration.DeepCopy()
	pointAtValidation(found, at(service.Namespace), "", nil)
	g.Expect(found).To(Equal(&configuration), "the operator has nothing to change but the caBundle")
	pointAtValidation(found, at(service.Namespace), "", []byte("authority"))
	g.Expect(trustedToValidate(found, ofCore.Validation)).To(Equal([]byte("authority")), "the operator finds its webhook there")
}

func TestWhereTheValidationIs(t *testing.T) {
	g := NewWithT(t)
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{Webhooks: []admissionregistrationv1.ValidatingWebhook{
		{Name: "another.example.com"}, {Name: ofCore.Validation.Name, TimeoutSeconds: new(int32(1))},
	}}
	before := configuration.DeepCopy()
	pointAtValidation(configuration, at("here"), "https://127.0.0.1:9443", []byte("authority"))
	g.Expect(configuration.Webhooks[0]).To(Equal(before.Webhooks[0]), "others are left alone")
	g.Expect(configuration.Webhooks[1]).To(Equal(admissionregistrationv1.ValidatingWebhook{
		Name: ofCore.Validation.Name, TimeoutSeconds: new(int32(1)),
		ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:9443" + ofCore.Validation.Path), CABundle: []byte("authority")},
	}))
	configuration.Webhooks = configuration.Webhooks[:1]
	pointAtValidation(configuration, ofCore, "", []byte("authority"))
	g.Expect(configuration.Webhooks).To(Equal(before.Webhooks[:1]), "and where it is not, nothing is added")
	g.Expect(trustedToValidate(configuration, ofCore.Validation)).To(BeNil())
}
