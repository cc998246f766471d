package transfer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/critical-service/operator/workloads/internal/etcdclient"
	"github.com/critical-service/operator/workloads/internal/transfer/result"
)

const (
	// dialTimeout is how long a member is waited for.
	dialTimeout = 10 * time.Second
	// pause is between two tries.
	pause = 3 * time.Second
)

// Source is a cluster.
type Source struct {
	// Endpoint is where its clients reach it, for example https://my-super-etcd.shop.svc:2379.
	Endpoint string
	// TLS is how a client shows itself; nil without.
	TLS *tls.Config
}

// Fetch takes a snapshot of a cluster. It has all that was acknowledged before it was asked for. What
// fails is tried again for a while; and where room was made for it, at once.
func Fetch(ctx context.Context, source Source, target Target, patience time.Duration) (*result.Result, error) {
	return persist(ctx, patience, func() (*result.Result, error) { return fetch(ctx, source, target) })
}

func persist(ctx context.Context, patience time.Duration, try func() (*result.Result, error)) (*result.Result, error) {
	ends := time.After(patience)
	for {
		done, err := try()
		if err == nil {
			return done, nil
		}
		if ctx.Err() == nil && errors.Is(err, errRoomMade) {
			continue
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-ends:
			return nil, err
		case <-time.After(pause):
		}
	}
}

func fetch(ctx context.Context, source Source, target Target) (*result.Result, error) {
	client, err := etcdclient.New(ctx, etcdclient.Endpoint{URL: source.Endpoint, TLS: source.TLS, Timeout: dialTimeout})
	if err != nil {
		return nil, fmt.Errorf("reach %s: %w", source.Endpoint, err)
	}
	defer func() { _ = client.Close() }()
	once, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	// A quorum answers this; a snapshot is of one member alone.
	now, err := client.Get(once, "\x00", clientv3.WithCountOnly())
	if err != nil {
		return nil, fmt.Errorf("ask %s for its revision: %w", source.Endpoint, err)
	}
	stream, err := client.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("take a snapshot of %s: %w", source.Endpoint, err)
	}
	done, err := target.write(stream, now.Header.Revision)
	return done, errors.Join(err, stream.Close())
}

// Certificates reads those of a mounted Secret. Both sides of a connection show them, and trust
// its authority only.
func Certificates(folder string) (*tls.Config, error) {
	if folder == "" {
		return nil, nil //nolint:nilnil // There is no TLS.
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"))
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(filepath.Join(folder, "ca.crt")) //nolint:gosec // The operator names the folder.
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s/ca.crt has no certificate", folder)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, RootCAs: trusted, ClientCAs: trusted,
		ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}, nil
}
