// Package tunnel connects to ports of Pods through the API server, as
// `kubectl port-forward` does, without a port on this machine.
package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// shutdownTimeout is how long a Pod's node may take to say how a connection ended.
const shutdownTimeout = 2 * time.Second

// Tunnel leads to one Pod. Connections through it share a connection to the API
// server.
type Tunnel struct {
	streams  httpstream.Connection
	mu       sync.Mutex
	requests int
}

// Open opens a tunnel to a Pod. It needs the permission to create pods/portforward.
func Open(config *rest.Config, pod types.NamespacedName) (*Tunnel, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	url := clients.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	// Websockets get through more proxies than SPDY, and older API servers know SPDY only.
	sockets, err := portforward.NewSPDYOverWebsocketDialerForStreaming(url, config)
	if err != nil {
		return nil, err
	}
	dialer := portforward.NewFallbackDialerForStreaming(sockets,
		spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, url),
		func(err error) bool { return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err) })
	streams, protocol, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, fmt.Errorf("forward ports of Pod %s: %w", pod, err)
	}
	if protocol != portforward.PortForwardProtocolV1Name {
		_ = streams.Close()
		return nil, fmt.Errorf("forward ports of Pod %s: the server speaks %q, and not %q", pod, protocol, portforward.PortForwardProtocolV1Name)
	}
	return &Tunnel{streams: streams}, nil
}

// Close ends the tunnel and all connections through it.
func (t *Tunnel) Close() error { return t.streams.Close() }

// Conn is a connection to a port of the Pod.
type Conn struct {
	net.Conn
	data    httpstream.Stream
	refused chan string
}

// Dial connects to a port of the Pod. It succeeds before the Pod's node has
// connected: Refused reports whether it could.
func (t *Tunnel) Dial(ctx context.Context, port int32) (*Conn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.requests++
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(int(port)))
	headers.Set(corev1.PortForwardRequestIDHeader, strconv.Itoa(t.requests))
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	failures, err := t.streams.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	_ = failures.Close() // Nothing is written to it.
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := t.streams.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	conn := &Conn{Conn: near, data: data, refused: make(chan string, 1)}
	go conn.listen(failures, far)
	go func() {
		_, _ = io.Copy(far, data)
		_ = far.Close()
	}()
	go func() {
		_, _ = io.Copy(data, far)
		_ = data.Close()
	}()
	return conn, nil
}

// listen waits for what the node says of the connection, which is nothing if all
// went well.
func (c *Conn) listen(failures io.Reader, far io.Closer) {
	message, err := io.ReadAll(failures)
	if len(message) > 0 && err == nil {
		_ = far.Close()
	}
	c.refused <- strings.TrimSpace(string(message))
}

// Refused ends the connection, and says why the node could not connect to the port;
// it is empty if it could.
func (c *Conn) Refused(ctx context.Context) string {
	_ = c.Close()
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	select {
	case message := <-c.refused:
		return message
	case <-ctx.Done():
		return ""
	}
}

// Close ends the connection.
func (c *Conn) Close() error {
	return errors.Join(c.Conn.Close(), c.data.Reset())
}
