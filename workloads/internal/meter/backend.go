package meter

import (
	"context"
	"net"
	"net/http"
	"time"
)

// idleAppTimeout is shorter than that of the usual applications: gunicorn closes an idle connection after two
// seconds, and Node.js after five. A POST that is sent while the application closes is lost, as only what
// is safe to repeat is sent again.
const idleAppTimeout = time.Second

// backend reaches the application with the protocol of the client.
type backend struct{ plain, multiplexed *http.Transport }

func newBackend(app string) *backend {
	transport := func(http2 bool) *http.Transport {
		protocols := &http.Protocols{}
		protocols.SetHTTP1(!http2)
		protocols.SetUnencryptedHTTP2(http2)
		return &http.Transport{
			// Not by the host of a URL, nor through a proxy: it is always the same process.
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				dialer := net.Dialer{Timeout: 5 * time.Second, Control: keepLittle}
				return dialer.DialContext(ctx, "tcp", app)
			},
			Protocols: protocols, DisableCompression: true, MaxIdleConnsPerHost: 256, IdleConnTimeout: idleAppTimeout,
			MaxResponseHeaderBytes: 256 << 10, ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10,
			// A connection's own bound is a gigabyte: a stream whose client takes nothing leaves the others enough.
			HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 32 << 10},
		}
	}
	return &backend{plain: transport(false), multiplexed: transport(true)}
}

// RoundTrip implements http.RoundTripper.
func (b *backend) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.ProtoMajor >= 2 {
		return b.multiplexed.RoundTrip(r)
	}
	return b.plain.RoundTrip(r)
}
