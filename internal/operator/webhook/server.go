package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/critical-service/operator/internal/operator/crdcache"
	"github.com/critical-service/operator/internal/operator/serving"
)

const (
	// Path is where conversion is served.
	Path = "/convert"
	// servicePort is the port of the Service.
	servicePort = 443

	certificateFile, keyFile = "tls.crt", "tls.key"

	// dialTimeout is how long the webhook's own server may take for a connection.
	dialTimeout = 10 * time.Second
)

// Options say what the webhook is for, where it listens, and how the API server finds it.
type Options struct {
	// Service is the name of the Service by which the API server reaches the webhook. The
	// ValidatingWebhookConfiguration has the same, and the authority has it with -ca.
	Service string
	// Kind is what the webhook converts.
	Kind crdcache.Kind
	// Validation is what the ValidatingWebhookConfiguration says of it; empty is that there
	// is none.
	Validation Validation
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

// Validation is a webhook that validates.
type Validation struct {
	// Name is that of the webhook in its configuration, and Path where it is served.
	Name, Path string
}

// SecretKey names the Secret that holds the authority.
func (o Options) SecretKey() types.NamespacedName {
	return types.NamespacedName{Namespace: o.Namespace, Name: o.authority()}
}

// authority is the subject of the authority's certificate, and the name of its Secret.
func (o Options) authority() string { return o.Service + "-ca" }

// The API server takes no write of more than 3 MiB, and asks to convert one object.
// For a validation it sends that which is stored, too. An object that is stored, in at most
// 1.5 MiB, must never have too many values: one that cannot be converted fails every list.
var (
	conversionLimits = serving.Limits{Bytes: 4 << 20, Values: 1 << 20}
	validationLimits = serving.Limits{Bytes: 7 << 20, Values: 1 << 19}
)

// Server is a webhook server that also runs all that it needs, so that the
// manager starts everything at once: before any cache, in every replica.
type Server struct {
	// Server keeps what is served where; it is not started.
	webhook.Server
	address string
	tls     *tls.Config
	parts   []manager.Runnable
	// certificate is the one that is served at the moment.
	certificate func() (*x509.Certificate, error)
	listens     atomic.Bool
}

// NewServer makes a server. Nothing is asked of the API server before it starts.
func NewServer(definition cluster.Cluster, options Options) (*Server, error) {
	provided, err := holdsCertificate(options.CertDir)
	if err != nil {
		return nil, err
	}
	server := &Server{
		Server:  webhook.NewServer(webhook.Options{}),
		address: net.JoinHostPort("", strconv.Itoa(options.Port)),
		tls:     &tls.Config{},
		parts:   []manager.Runnable{definition},
	}
	serving.TLS(server.tls)
	certify := server.makeCertificates
	if provided {
		certify = server.takeCertificates
	}
	if err := certify(definition, options); err != nil {
		return nil, err
	}
	ctrl.Log.WithName("webhook").Info("certificates", "provided", provided, "folder", options.CertDir)
	server.parts = append(server.parts, manager.RunnableFunc(server.serve))
	return server, nil
}

// Register serves a path within limits: every Pod of the cluster can ask.
func (s *Server) Register(path string, handler http.Handler) {
	limits := validationLimits
	if path == Path {
		limits = conversionLimits
	}
	s.Server.Register(path, serving.Bounded(limits, handler))
}

// takeCertificates serves those that a folder holds, which their provider renews.
func (s *Server) takeCertificates(_ cluster.Cluster, options Options) error {
	watcher, err := certwatcher.New(filepath.Join(options.CertDir, certificateFile), filepath.Join(options.CertDir, keyFile))
	if err != nil {
		return fmt.Errorf("read the certificate in WEBHOOK_CERT_DIR: %w", err)
	}
	s.tls.GetCertificate, s.certificate = watcher.GetCertificate, inFolder(options.CertDir)
	s.parts = append(s.parts, manager.RunnableFunc(func(ctx context.Context) error {
		if err := watcher.Start(ctx); err != nil {
			logr.FromContextOrDiscard(ctx).Error(err, "watch WEBHOOK_CERT_DIR; a new certificate is served after a restart only")
		}
		return nil
	}))
	return nil
}

// makeCertificates serves self-made ones, and makes the API server trust them.
func (s *Server) makeCertificates(definition cluster.Cluster, options Options) error {
	certificates, err := selfMade(definition.GetConfig(), options)
	if err != nil {
		return err
	}
	convert, err := newTrust(definition, options, "webhook-trust", &apiextensionsv1.CustomResourceDefinition{}, updateConversion)
	if err != nil {
		return err
	}
	s.tls.GetCertificate, s.certificate = certificates.await, certificates.newest
	s.parts = append(s.parts, certificates, convert, manager.RunnableFunc(func(ctx context.Context) error {
		reportDenial(ctx, definition.GetAPIReader(), options)
		return nil
	}))
	if options.Validation == (Validation{}) {
		return nil
	}
	validate, err := newTrust(definition, options, "validation-trust", &admissionregistrationv1.ValidatingWebhookConfiguration{}, updateValidation)
	s.parts = append(s.parts, validate)
	return err
}

// Expiry is when the certificate that is served ceases to be valid.
func (s *Server) Expiry() (time.Time, error) {
	served, err := s.certificate()
	if err != nil {
		return time.Time{}, err
	}
	return served.NotAfter, nil
}

// GetCertificate is what the webhook shows, for what else the operator serves by the same Service.
func (s *Server) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return s.tls.GetCertificate(hello)
}

// Start runs the server until the context ends.
func (s *Server) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(logr.NewContext(ctx, ctrl.Log.WithName("webhook")))
	for _, part := range s.parts {
		group.Go(func() error { return part.Start(ctx) })
	}
	return group.Wait()
}

func (s *Server) serve(ctx context.Context) error {
	return serving.Run(ctx, s.address, s.tls, s.WebhookMux(), func() { s.listens.Store(true) })
}

// StartedChecker reports whether a client gets a connection, which takes a
// certificate.
func (s *Server) StartedChecker() healthz.Checker {
	// The certificate is for another name than that of this machine, and proves nothing to its own server.
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTimeout}, Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // See above.
	return func(request *http.Request) error {
		if !s.listens.Load() {
			return errors.New("the webhook does not listen yet")
		}
		connection, err := dialer.DialContext(request.Context(), "tcp", s.address)
		if err != nil {
			return fmt.Errorf("connect to the webhook: %w", err)
		}
		return connection.Close()
	}
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
