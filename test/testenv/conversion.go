package testenv

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/critical-service/operator/test/ports"
)

// placeOfConversion says where the conversion is served, before the API server is configured. A port that envtest chooses is
// bound seconds later.
func placeOfConversion() (envtest.WebhookInstallOptions, error) {
	address, err := ports.FreeUntilExit()
	if err != nil {
		return envtest.WebhookInstallOptions{}, err
	}
	at, err := netip.ParseAddrPort(address)
	return envtest.WebhookInstallOptions{
		IgnoreSchemeConvertible: true, LocalServingHost: at.Addr().String(), LocalServingPort: int(at.Port()),
	}, err
}

// serveConversion serves the conversion of the operator's kinds as the operator does, for
// all tests of a package, where envtest has pointed the API server.
func serveConversion(conversion func() (http.Handler, error), options envtest.WebhookInstallOptions) error {
	handler, err := conversion()
	if err != nil {
		return err
	}
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", net.JoinHostPort(options.LocalServingHost, strconv.Itoa(options.LocalServingPort)))
	if err != nil {
		return fmt.Errorf("serve the conversion of versions: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/convert", handler)
	go func() {
		folder := options.LocalServingCertDir
		server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
		err := server.ServeTLS(listener, filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"))
		log.Fatalf("serve the conversion of versions: %v", err) // It ends with the tests.
	}()
	return nil
}

// CertDir is a folder with a certificate for a webhook server, so that an operator
// in a process of its own leaves the definitions as they are.
func (c *Cluster) CertDir() string { return c.environment.WebhookInstallOptions.LocalServingCertDir }
