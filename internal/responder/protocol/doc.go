// Package protocol says "not available now" in the words of the protocol that a
// client speaks, so that it fails at once, or tries again, instead of hanging.
//
// Which protocol it is, is known before the first byte, by the appProtocol of the
// Service's port (FromAppProtocol), or is seen in the first bytes of the client
// (Detect). Only MySQL has to be known: there the server speaks first, and a client
// that waits for it sends nothing to detect. Where only the port's name or number
// suggests it (appprotocol.MayBeMySQL), the client must be silent as well. Refuse
// then answers and ends the connection so that the client reads the answer and an
// end, never a reset:
//
//	PostgreSQL   no to encryption, then FATAL 57P03 (cannot_connect_now)
//	MySQL        error 1053 (ER_SERVER_SHUTDOWN) in place of the greeting
//	Redis        -LOADING to every command, for a short while
//	MongoDB      ShutdownInProgress (91) in answer to the hello
//	TLS          the fatal alert internal_error
//	others       nothing but the end
//
// HTTP is only detected here; it is answered elsewhere.
//
// The few bytes of each protocol are written and read here rather than by its
// library: a library speaks to well-behaved peers, has a say in what versions
// there are (a PostgreSQL client of tomorrow shall be refused as well), and holds
// more memory per connection than the answer is long.
package protocol

// Kind is a protocol that clients of a Service speak. The value is fit for a
// label of a metric.
type Kind string

// The kinds that are distinguished.
const (
	HTTP1      Kind = "http1"
	HTTP2      Kind = "http2" // without TLS: h2c
	TLS        Kind = "tls"
	PostgreSQL Kind = "postgresql"
	MySQL      Kind = "mysql"
	Redis      Kind = "redis"
	MongoDB    Kind = "mongodb"
	// PROXY is the header of a load balancer. The protocol of the client follows.
	PROXY   Kind = "proxy"
	Unknown Kind = "unknown"
)
