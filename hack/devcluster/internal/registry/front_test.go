package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/critical-service/operator/hack/devcluster/internal/certificate"
)

func TestRegistryOf(t *testing.T) {
	for name, tc := range map[string]struct{ host, want string }{
		"a registry is itself":             {"quay.io", "quay.io"},
		"with the port that clients write": {"quay.io:443", "quay.io"},
		"the server of Docker Hub":         {"registry-1.docker.io", "docker.io"},
		"and its other one":                {"index.docker.io:443", "docker.io"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := registryOf(tc.host); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// newFront serves a registry over TLS, and returns a client that takes it for every host.
func newFront(t *testing.T) (address string, roots *x509.CertPool, client http.RoundTripper) {
	t.Helper()
	dir := t.TempDir()
	if _, err := certificate.NewAuthority(dir); err != nil {
		t.Fatal(err)
	}
	authority, err := certificate.LoadAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := NewHandler(t.TempDir(), log.New(io.Discard, "", 0), "127.0.0.1:5000")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := front(handler, authority.Server)
	server.ErrorLog = log.New(io.Discard, "", 0)
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close() })

	ca, err := tls.LoadX509KeyPair(dir+"/ca.crt", dir+"/ca.key")
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	address = listener.Addr().String()
	return address, roots, &http.Transport{
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}
}

func TestTheFrontStandsForTheRealRegistries(t *testing.T) {
	address, roots, client := newFront(t)
	if err := CheckFront(t.Context(), address, roots); err != nil {
		t.Fatalf("the front does not know itself: %v", err)
	}
	if err := CheckFront(t.Context(), address, x509.NewCertPool()); err == nil {
		t.Error("a certificate of an unknown authority was taken")
	}
	quay, hub := newImage(t), newImage(t)
	// A push uses the locations that the registry answers with, which must not be mapped twice.
	for text, img := range map[string]v1.Image{"quay.io/x/y:dev": quay, "docker.io/library/busybox:dev": hub} {
		if err := remote.Write(parse(t, text), img, remote.WithTransport(client)); err != nil {
			t.Fatalf("push %s: %v", text, err)
		}
	}
	for name, tc := range map[string]struct {
		reference string
		want      v1.Image
	}{
		"the image of a registry":                       {"quay.io/x/y:dev", quay},
		"Docker Hub's, by the short name":               {"busybox:dev", hub},
		"an image of the same name in another registry": {"ghcr.io/x/y:dev", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := remote.Image(parse(t, tc.reference), remote.WithTransport(client))
			if tc.want == nil {
				if err == nil {
					t.Error("two registries collide")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if digest(t, got) != digest(t, tc.want) {
				t.Error("it is not the image that was pushed")
			}
		})
	}
}

func parse(t *testing.T, text string) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(text)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func TestWhatThePodsPullIsWhatTheFrontServes(t *testing.T) {
	_, _, client := newFront(t)
	if err := remote.Write(parse(t, "quay.io/x/y:dev"), newImage(t), remote.WithTransport(client)); err != nil {
		t.Fatal(err)
	}
	repositories, err := remote.Catalog(t.Context(), parse(t, "quay.io/x/y").Context().Registry, remote.WithTransport(client))
	if err != nil {
		t.Fatal(err)
	}
	if len(repositories) != 1 || repositories[0] != "quay.io/x/y" {
		t.Errorf("the node, which asks for quay.io/x/y, would not find it in %v", repositories)
	}
}
