package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// WellKnown are the names of registries that lead to this one wherever real names
// are used (`devcluster with-registry`), whether it has images of them or not.
func WellKnown() []string {
	return []string{
		"quay.io", "docker.io", "registry-1.docker.io", "index.docker.io",
		"registry.access.redhat.com", "registry.redhat.io", "registry.connect.redhat.com",
		"gcr.io", "ghcr.io", "mcr.microsoft.com", "public.ecr.aws", "registry.k8s.io",
	}
}

// dockerHub is how images of Docker Hub are called; its servers have other names.
const dockerHub = "docker.io"

// registryOf returns the registry that a client means which connected to a host.
func registryOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	switch host {
	case "registry-1.docker.io", "index.docker.io":
		return dockerHub
	}
	return host
}

// mapHost rewrites the requests of clients that took this registry for a real one
// to the full name of the image. Locations that this registry gave them have it already.
func mapHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		registry := registryOf(r.Host)
		rest, isRepository := strings.CutPrefix(r.URL.Path, apiPrefix)
		if !isRepository || rest == "" || strings.HasPrefix(rest, "_") || strings.HasPrefix(rest, registry+"/") {
			next.ServeHTTP(w, r)
			return
		}
		mapped := r.Clone(r.Context())
		mapped.URL = &url.URL{Path: apiPrefix + Repository(registry, rest), RawQuery: r.URL.RawQuery}
		next.ServeHTTP(w, mapped)
	})
}

// front serves the registry over TLS under whatever name a client asks for.
func front(handler http.Handler, certificateFor func(serverName string) (*tls.Certificate, error)) *http.Server {
	return &http.Server{
		Handler:           mapHost(handler),
		ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12,
			GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
				return certificateFor(hello.ServerName)
			},
		},
	}
}

// CheckFront asks the registry at a TLS address for itself, by a real name.
func CheckFront(ctx context.Context, address string, authority *x509.CertPool) error {
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authority},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+WellKnown()[0]+apiPrefix, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the registry answers %s", response.Status)
	}
	return nil
}
