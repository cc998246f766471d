// Package etcdclient connects to members of etcd. Its clients log nothing: what is wrong, their errors
// say.
package etcdclient

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// keepAlive is how often a member that says nothing is asked whether it is there.
const keepAlive = 20 * time.Second

// Endpoint is where a member, or a cluster, is reached.
type Endpoint struct {
	// URL names it. Its certificate has to be of that name.
	URL string
	// At is the address to connect to, in the place of the URL's; empty is that.
	At string
	// TLS is how the client shows itself; nil without.
	TLS *tls.Config
	// Timeout bounds how long a connection is waited for.
	Timeout time.Duration
	// MaxAnswer bounds the bytes of an answer; 0 is etcd's own bound.
	MaxAnswer int
}

// New makes a client of one endpoint.
func New(ctx context.Context, of Endpoint) (*clientv3.Client, error) {
	options := []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: of.Timeout})}
	if of.At != "" {
		options = append(options, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", of.At)
		}))
	}
	return clientv3.New(clientv3.Config{
		Context: ctx, Endpoints: []string{of.URL}, TLS: of.TLS, DialTimeout: of.Timeout, DialKeepAliveTime: keepAlive, DialKeepAliveTimeout: keepAlive,
		Logger: zap.NewNop(), MaxCallRecvMsgSize: of.MaxAnswer, MaxUnaryRetries: 1, DialOptions: options,
	})
}
