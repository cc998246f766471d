package webhook

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

const (
	// Service is the Service by which the API server reaches the webhook.
	Service = "critical-service-webhook"
	// Path is where conversion is served.
	Path = "/convert"
	// servicePort is the port of the Service.
	servicePort = 443

	certificateFile, keyFile = "tls.crt", "tls.key"
)

// Options say where the webhook listens, and how the API server finds it.
type Options struct {
	// Port is where the webhook listens, on every address.
	Port int
	// CertDir may hold tls.crt and tls.key, which are then served as they are.
	CertDir string
	// URL is where the API server reaches a process outside of the cluster,
	// without a path; empty is by the Service.
	URL string
	// Namespace is the operator's: of the Service and of the Secret.
	Namespace string
}

// SecretKey names the Secret that holds the authority.
func (o Options) SecretKey() types.NamespacedName {
	return types.NamespacedName{Namespace: o.Namespace, Name: secretName}
}

// Server is a webhook server that also runs all that it needs, so that the
// manager starts everything at once: before any cache, in every replica.
type Server struct {
	webhook.Server
	parts []manager.Runnable
	// certificate is the one that is served at the moment.
	certificate func() (*x509.Certificate, error)
}

// NewServer makes a server. Nothing is asked of the API server before it starts.
func NewServer(definition cluster.Cluster, options Options) (*Server, error) {
	handler, err := Conversion()
	if err != nil {
		return nil, err
	}
	provided, err := holdsCertificate(options.CertDir)
	if err != nil {
		return nil, err
	}
	served := webhook.Options{Port: options.Port, CertDir: options.CertDir}
	server := &Server{parts: []manager.Runnable{definition}, certificate: inFolder(options.CertDir)}
	if !provided {
		certificates, err := selfMade(definition.GetConfig(), options)
		if err != nil {
			return nil, err
		}
		convert, err := newTrust(definition, options, "webhook-trust", &apiextensionsv1.CustomResourceDefinition{}, updateConversion)
		if err != nil {
			return nil, err
		}
		validate, err := newTrust(definition, options, "validation-trust", &admissionregistrationv1.ValidatingWebhookConfiguration{}, updateValidation)
		if err != nil {
			return nil, err
		}
		served.TLSOpts = append(served.TLSOpts, certificates.serve)
		server.certificate = certificates.newest
		server.parts = append(server.parts, certificates, convert, validate)
	}
	ctrl.Log.WithName("webhook").Info("certificates", "provided", provided, "folder", options.CertDir)
	server.Server = webhook.NewServer(served)
	server.Register(Path, handler)
	server.parts = append(server.parts, server.Server)
	return server, nil
}

// Expiry is when the certificate that is served ceases to be valid.
func (s *Server) Expiry() (time.Time, error) {
	served, err := s.certificate()
	if err != nil {
		return time.Time{}, err
	}
	return served.NotAfter, nil
}

// Start runs the server until the context ends.
func (s *Server) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(logr.NewContext(ctx, ctrl.Log.WithName("webhook")))
	for _, part := range s.parts {
		group.Go(func() error { return part.Start(ctx) })
	}
	return group.Wait()
}

// holdsCertificate reports whether a folder holds a certificate with its key. One
// without the other is an error: provided certificates are meant to be used.
func holdsCertificate(folder string) (bool, error) {
	held := map[string]bool{}
	for _, name := range []string{certificateFile, keyFile} {
		_, err := os.Stat(filepath.Join(folder, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("look for certificates in WEBHOOK_CERT_DIR: %w", err)
		}
		held[name] = err == nil
	}
	if held[certificateFile] != held[keyFile] {
		return false, fmt.Errorf("WEBHOOK_CERT_DIR=%q holds only one of %s and %s: give both, or none to have certificates made",
			folder, certificateFile, keyFile)
	}
	return held[certificateFile], nil
}
