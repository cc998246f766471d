package registry

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	ggcr "github.com/google/go-containerregistry/pkg/registry"
)

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

// Serve runs the registry on an address until the context ends.
func Serve(ctx context.Context, address, dir string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	handler, err := NewHandler(dir, log.New(os.Stderr, "", log.LstdFlags), address, "localhost:"+port)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
