// Package apiserver is the aggregated API server of the workloads operator: what a
// CustomResourceDefinition cannot serve, because it is no object. kube-apiserver sends it the
// requests of the groups for which an administrator has made an APIService, which is the switch:
// before there is one, nothing listens.
//
//	client ── request ──▶ kube-apiserver ── who, and what for ──▶ every replica: backups
//	                        ▲      ▲ may that user?                 │ its own certificate, of the webhook
//	                        │      └────────────────────────────────┤
//	                        └─ caBundle ── APIService ◀── trust ────┘
//
// It is made of the library that kube-apiserver is made of: who a user is and what he may is
// asked of the cluster, and audit, discovery and OpenAPI are those that clients know. It stores
// nothing.
package apiserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/critical-service/operator/internal/etcd"
	"github.com/critical-service/operator/internal/operator/serving"
	"github.com/critical-service/operator/workloads/internal/apiserver/view"
)

const (
	// retryPeriod is how long after an error it is retried.
	retryPeriod = 10 * time.Second

	// What requests hold in memory is held in the process that leads all controllers: these are few, and
	// small. Backups, restorations and watches have places of their own.
	maxRequests, maxMutatingRequests = 32, 8
	maxBody                          = 1 << 20
)

// Options say what is served, and how.
type Options struct {
	// Port is where the server listens, on every address.
	Port int
	// Certificate is what clients are shown.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Config reaches the API server of the cluster.
	Config *rest.Config
	// Groups are those that are served.
	Groups []*Group
	// AuditPolicy and AuditLog are files: what is noted of requests, and where; "-" is the output of
	// the process. Without a policy nothing is.
	AuditPolicy, AuditLog string
	// Wanted is closed when there is something to serve.
	Wanted <-chan struct{}
}

// Server serves in every replica.
type Server struct {
	options Options
	listens atomic.Bool
}

// New makes a server. Nothing is asked of the API server of the cluster before it starts.
func New(options Options) *Server { return &Server{options: options} }

// NeedLeaderElection says that every replica serves.
func (*Server) NeedLeaderElection() bool { return false }

// Listens reports whether clients get an answer.
func (s *Server) Listens() bool { return s.listens.Load() }

// Start serves until the context ends, from when that is wanted. Whatever goes wrong, the rest of
// the operator does not end with it.
func (s *Server) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.options.Wanted:
	}
	log := ctrl.Log.WithName("apiserver")
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := s.run(ctx); err != nil {
			log.Error(err, "serve APIs; this is retried", "after", retryPeriod.String())
		}
	}, retryPeriod)
	return nil
}

// run serves until the context ends, or something goes wrong.
func (s *Server) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := s.make(ctx)
	if err != nil {
		return fmt.Errorf("make the API server: %w", err)
	}
	defer server.Destroy()
	if server.AuditBackend != nil {
		if err := server.AuditBackend.Run(ctx.Done()); err != nil {
			return fmt.Errorf("begin the audit log: %w", err)
		}
		defer server.AuditBackend.Shutdown()
	}
	// The library is left no connections to serve: these are bounded as those of the webhook are.
	prepared := server.PrepareRun()
	if _, _, err := prepared.NonBlockingRunWithContext(ctx, 0); err != nil {
		return fmt.Errorf("start the API server: %w", err)
	}
	config := &tls.Config{GetCertificate: s.options.Certificate, ClientAuth: tls.RequestClientCert}
	serving.TLS(config)
	return serving.Run(ctx, s.address(), config, prepared.Handler, func() { s.listens.Store(true) })
}

func (s *Server) address() string { return net.JoinHostPort("", strconv.Itoa(s.options.Port)) }

// make makes the server, and starts what follows the configuration of the cluster.
func (s *Server) make(ctx context.Context) (*genericapiserver.GenericAPIServer, error) {
	clients, err := kubernetes.NewForConfig(s.options.Config)
	if err != nil {
		return nil, err
	}
	config := genericapiserver.NewConfig(serializer.NewCodecFactory(newScheme()))
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.ExternalAddress = s.address()
	config.LoopbackClientConfig = &rest.Config{} // No token that may do everything.
	config.EnableProfiling = false
	config.EnableMetrics = false // Those of the process are served elsewhere, with the library's among them.
	bound(config)
	describe(config, s.options.Groups)
	authentication, failedAuthentication := authenticate(ctx, clients)
	authorizer, failedAuthorization := Authorizer(s.options.Config)
	if err := errors.Join(failedAuthentication, failedAuthorization, s.audit(config)); err != nil {
		return nil, err
	}
	config.Authentication, config.Authorization.Authorizer = *authentication, authorizer
	server, err := config.Complete(nil).New("critical-service-workloads", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, err
	}
	for _, group := range s.options.Groups {
		if err := server.InstallAPIGroup(&group.info); err != nil {
			return nil, fmt.Errorf("serve the group %s: %w", group.info.PrioritizedVersions[0], err)
		}
	}
	return server, nil
}

// bound limits what requests may cost.
func bound(config *genericapiserver.Config) {
	config.MaxRequestsInFlight, config.MaxMutatingRequestsInFlight = maxRequests, maxMutatingRequests
	config.MaxRequestBodyBytes, config.JSONPatchMaxCopyBytes = maxBody, maxBody
	config.LongRunningFunc = genericfilters.BasicLongRunningRequestCheck(sets.NewString("watch"), sets.NewString(etcd.Backup, etcd.Restore))
	config.BuildHandlerChainFunc = func(handler http.Handler, config *genericapiserver.Config) http.Handler {
		return genericapiserver.DefaultBuildHandlerChain(view.Lasting(handler), config)
	}
}

// audit sets what is noted of requests.
func (s *Server) audit(config *genericapiserver.Config) error {
	options := genericoptions.NewAuditOptions()
	options.PolicyFile, options.LogOptions.Path = s.options.AuditPolicy, s.options.AuditLog
	if err := errors.Join(options.Validate()...); err != nil {
		return err
	}
	return options.ApplyTo(config)
}
