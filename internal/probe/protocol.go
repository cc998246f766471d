package probe

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/critical-service/operator/internal/responder/protocol"
)

// Protocol is a language in which a server can be asked.
type Protocol string

// The protocols.
const (
	// HTTP is HTTP/1.1.
	HTTP Protocol = "http"
	// H2C is HTTP/2 without TLS, of which the client knows in advance.
	H2C Protocol = "h2c"
	// GRPC is gRPC without TLS.
	GRPC Protocol = "grpc"
	// PostgreSQL without TLS.
	PostgreSQL Protocol = "postgresql"
	// MySQL without TLS, and MariaDB.
	MySQL Protocol = "mysql"
	// Redis without TLS, and Valkey.
	Redis Protocol = "redis"
	// TLS is a handshake, whatever is spoken inside.
	TLS Protocol = "tls"
	// TCP is a connection, on which nothing is said.
	TCP Protocol = "tcp"
)

// Protocols are all of them.
var Protocols = []Protocol{HTTP, H2C, GRPC, PostgreSQL, MySQL, Redis, TLS, TCP}

// speaker knows one protocol.
type speaker struct {
	// ask says why a client comes, and gives the status of the answer. It reads of conn
	// only, and until the answer has ended.
	ask func(ctx context.Context, conn *witness, target Target) (status string, err error)
	// begins tells whether an answer may begin with these bytes; there is at least
	// one.
	begins func(first []byte) bool
}

var speakers = map[Protocol]speaker{
	HTTP:       {askHTTP, beginsHTTP},
	H2C:        {askHTTP, beginsHTTP2},
	GRPC:       {askGRPC, beginsHTTP2},
	PostgreSQL: {askPostgreSQL, beginsPostgreSQL},
	MySQL:      {askMySQL, beginsMySQL},
	Redis:      {askRedis, beginsRedis},
	TLS:        {askTLS, beginsTLS},
	TCP:        {askTCP, func([]byte) bool { return true }},
}

// byKind are the protocols that the responder answers.
var byKind = map[protocol.Kind]Protocol{
	protocol.HTTP1: HTTP, protocol.HTTP2: H2C, protocol.TLS: TLS,
	protocol.PostgreSQL: PostgreSQL, protocol.MySQL: MySQL, protocol.Redis: Redis,
}

// byNumber are ports whose number stands for one protocol, as good as without
// exception.
var byNumber = map[int32]Protocol{
	80: HTTP, 443: TLS, 3306: MySQL, 5432: PostgreSQL, 6379: Redis, 8080: HTTP, 8443: TLS,
}

// ProtocolOf says in which protocol a port of a Service is to be asked: by its
// appProtocol; if that says nothing, by the words of its name ("http-admin",
// "tcp-mysql"), and then by its number. Where nothing tells, it is TCP.
func ProtocolOf(port corev1.ServicePort) Protocol {
	said := ""
	if port.AppProtocol != nil {
		said = strings.ToLower(*port.AppProtocol)
	}
	if said != "" && said != string(TCP) {
		return ofWord(said)
	}
	for _, word := range append([]string{port.Name}, strings.Split(port.Name, "-")...) {
		if known := ofWord(word); known != TCP {
			return known
		}
	}
	if known, found := byNumber[port.Port]; found {
		return known
	}
	return TCP
}

func ofWord(word string) Protocol {
	if slices.Contains([]string{"grpc", "kubernetes.io/grpc"}, word) {
		return GRPC
	}
	kind, _ := protocol.FromAppProtocol(word)
	if known, found := byKind[kind]; found {
		return known
	}
	return TCP
}
