package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	ggcr "github.com/google/go-containerregistry/pkg/registry"
	"golang.org/x/sync/errgroup"
)

// Options say where the registry keeps its images and where it listens.
type Options struct {
	Dir string
	// Addresses serve plain HTTP to the node and to image builds, and to programs in Pods.
	Addresses []string
	// TLSAddress, if given, serves under the names of the real registries.
	TLSAddress string
	// CertificateFor returns the certificate of a name that is asked for at TLSAddress.
	CertificateFor func(serverName string) (*tls.Certificate, error)
}

// NewHandler returns the registry over a folder. Blobs and manifests survive a
// restart in it.
func NewHandler(dir string, logger *log.Logger, ownAddresses ...string) (http.Handler, error) {
	blobs := filepath.Join(dir, "blobs")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		return nil, err
	}
	memory := ggcr.New(ggcr.Logger(logger), ggcr.WithBlobHandler(ggcr.NewDiskBlobHandler(blobs)), ggcr.WithReferrersSupport(true))
	store, err := openManifestStore(filepath.Join(dir, "manifests"))
	if err != nil {
		return nil, err
	}
	if err := store.replay(memory); err != nil {
		return nil, err
	}
	return mapNamespace(store.record(memory), ownAddresses), nil
}

// Serve runs the registry until the context ends.
func Serve(ctx context.Context, options Options) error {
	logger := log.New(os.Stderr, "", log.LstdFlags)
	handler, err := NewHandler(options.Dir, logger, names(options.Addresses)...)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	servers := []*http.Server{server}
	if options.TLSAddress != "" {
		if secure := serveTLS(options, handler, logger); secure != nil {
			servers = append(servers, secure)
		}
	}
	go func() {
		<-ctx.Done()
		for _, server := range servers {
			_ = server.Close()
		}
	}()
	var group errgroup.Group
	for _, address := range options.Addresses {
		group.Go(func() error {
			listener, err := net.Listen("tcp", address)
			if err != nil {
				return errors.Join(fmt.Errorf("registry: %w", err), server.Close())
			}
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
	}
	return group.Wait()
}

// names are the addresses, and what users call those of this machine.
func names(addresses []string) []string {
	all := slices.Clone(addresses)
	for _, address := range addresses {
		if _, port, err := net.SplitHostPort(address); err == nil {
			all = append(all, "localhost:"+port)
		}
	}
	return slices.Compact(all)
}

// serveTLS serves in the background. The cluster does not need it, so that a web
// server which has the port on all addresses blocks `with-registry` only.
func serveTLS(options Options, handler http.Handler, logger *log.Logger) *http.Server {
	listener, err := net.Listen("tcp", options.TLSAddress)
	if err != nil {
		logger.Printf("registry: the names of the real registries are not served: %v", err)
		return nil
	}
	server := front(handler, options.CertificateFor)
	go func() {
		if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			logger.Printf("registry: the names of the real registries are no longer served: %v", err)
		}
	}()
	return server
}
