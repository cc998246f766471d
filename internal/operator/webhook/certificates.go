package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"time"

	servertls "github.com/cert-manager/cert-manager/pkg/server/tls"
	"github.com/cert-manager/cert-manager/pkg/server/tls/authority"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// Both are renewed when a third of their time is left.
	authorityLifetime   = 365 * 24 * time.Hour
	certificateLifetime = 7 * 24 * time.Hour

	// pollInterval is how often to check for a certificate, and
	// longestWait how long at most; the API server waits 30 s for a conversion.
	pollInterval = 100 * time.Millisecond
	longestWait  = 20 * time.Second
)

// certificates are self-made. They are those that cert-manager's own webhook
// lives on: see docs/decisions/0014-self-made-certificates.md.
type certificates struct {
	*servertls.DynamicSource
}

func selfMade(config *rest.Config, options Options) (*certificates, error) {
	signer := &addressSigner{Authority: &authority.DynamicAuthority{
		SecretNamespace: options.Namespace,
		SecretName:      options.authority(),
		RESTConfig:      config,
		CommonName:      options.authority(),
		CADuration:      authorityLifetime,
		LeafDuration:    certificateLifetime,
	}}
	names := []string{options.Service + "." + options.Namespace + ".svc"}
	if options.URL != "" {
		target, err := url.Parse(options.URL)
		if err != nil {
			return nil, fmt.Errorf("WEBHOOK_URL=%q: %w", options.URL, err)
		}
		if address := net.ParseIP(target.Hostname()); address != nil {
			signer.addresses = []net.IP{address}
		} else {
			names = append(names, target.Hostname())
		}
	}
	return &certificates{&servertls.DynamicSource{
		DNSNames: names, Authority: signer, RetryInterval: pollInterval,
	}}, nil
}

// reportDenial logs what an operator lacks that was given no certificate and may not
// make one: the bundle for OLM, which mounts certificates, leaves that permission out.
// The library itself only reports that a watch is denied. The operator goes on, as what
// is stored as v2 needs no conversion.
func reportDenial(ctx context.Context, live client.Reader, options Options) {
	if err := live.Get(ctx, options.SecretKey(), &corev1.Secret{}); apierrors.IsForbidden(err) {
		logr.FromContextOrDiscard(ctx).Error(err, "the webhook has no certificate: WEBHOOK_CERT_DIR holds none, and the operator may not "+
			"keep the authority for certificates of its own. Mount tls.crt and tls.key there, as OLM and cert-manager do, or grant "+
			"its role for certificates (config/rbac/certificates_role_binding.yaml). Until then the only version of "+options.Kind.Kind+" that can be read or "+
			"written is "+options.Kind.Version,
			"folder", options.CertDir, "secret", options.SecretKey())
	}
}

// await makes a client that connects before there is a certificate wait for it. At
// a start that is a moment; a refused connection would fail its request.
func (c *certificates) await(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	var newest *tls.Certificate
	err := wait.PollUntilContextTimeout(hello.Context(), pollInterval, longestWait, true, func(context.Context) (bool, error) {
		var err error
		newest, err = c.GetCertificate(hello)
		return err == nil, nil
	})
	return newest, err
}

// newest is the certificate that a client is shown now.
func (c *certificates) newest() (*x509.Certificate, error) {
	newest, err := c.GetCertificate(nil)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(newest.Certificate[0])
}

// inFolder reads the certificate in a folder, which its provider renews.
func inFolder(folder string) func() (*x509.Certificate, error) {
	return func() (*x509.Certificate, error) {
		found, err := cert.CertsFromFile(filepath.Join(folder, certificateFile))
		if err != nil {
			return nil, err
		}
		return found[0], nil
	}
}

// addressSigner adds what the library leaves out: a server that is reached by an
// address must have it in its certificate.
type addressSigner struct {
	servertls.Authority
	addresses []net.IP
}

// Sign signs a certificate for the template.
func (s *addressSigner) Sign(template *x509.Certificate) (*x509.Certificate, error) {
	template.IPAddresses = s.addresses
	return s.Authority.Sign(template)
}
