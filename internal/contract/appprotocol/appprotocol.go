// Package appprotocol says which protocol the clients of a Service port speak, as
// far as the port itself says: by its appProtocol, its name and its number. The
// responder answers in that protocol, and the operator and the plugin ask in it.
// It is pure.
package appprotocol

import "strings"

// Protocol is a protocol in which a client can ask.
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
	// MongoDB without TLS, and what speaks as it does.
	MongoDB Protocol = "mongodb"
	// TLS is a handshake, whatever is spoken inside.
	TLS Protocol = "tls"
	// TCP is a connection, on which nothing is said.
	TCP Protocol = "tcp"
)

// All lists the protocols.
var All = []Protocol{HTTP, H2C, GRPC, PostgreSQL, MySQL, Redis, MongoDB, TLS, TCP}

// byName holds IANA service names, the names that Kubernetes defines, and those
// that meshes and gateways use besides. "tcp" says nothing: such a port counts as
// one without an appProtocol.
var byName = map[string]Protocol{
	"http":              HTTP,
	"grpc-web":          HTTP,
	"ws":                HTTP,
	"kubernetes.io/ws":  HTTP,
	"h2c":               H2C,
	"http2":             H2C,
	"kubernetes.io/h2c": H2C,
	"grpc":              GRPC,
	"https":             TLS,
	"h2":                TLS,
	"grpcs":             TLS,
	"tls":               TLS,
	"wss":               TLS,
	"kubernetes.io/wss": TLS,
	"rediss":            TLS,
	"postgres":          PostgreSQL,
	"postgresql":        PostgreSQL,
	"pgsql":             PostgreSQL,
	"mysql":             MySQL,
	"mariadb":           MySQL,
	"redis":             Redis,
	"valkey":            Redis,
	"mongodb":           MongoDB,
	"mongo":             MongoDB,
}

// byNumber holds the ports whose number stands for one protocol, as good as
// without exception.
var byNumber = map[int32]Protocol{
	80: HTTP, 443: TLS, 3306: MySQL, 5432: PostgreSQL, 6379: Redis, 8080: HTTP, 8443: TLS,
	27017: MongoDB,
}

// Named returns the protocol that an appProtocol names; ok is false for a name that
// says nothing.
func Named(appProtocol string) (p Protocol, ok bool) {
	p, ok = byName[strings.ToLower(appProtocol)]
	return p, ok
}

// Of returns the protocol in which a port of a Service is to be asked: by its
// appProtocol; if that says nothing, by the words of its name ("http-admin",
// "tcp-mysql"), and then by its number. If none of them says, it is TCP.
//
// It takes the fields of a corev1.ServicePort one by one, because the types of
// Kubernetes would add 3 MB to the responder.
func Of(appProtocol *string, servicePort int32, portName string) Protocol {
	if appProtocol != nil && !saysNothing(*appProtocol) {
		return ofWord(strings.ToLower(*appProtocol))
	}
	for _, word := range append([]string{portName}, strings.Split(portName, "-")...) {
		if known := ofWord(word); known != TCP {
			return known
		}
	}
	if known, found := byNumber[servicePort]; found {
		return known
	}
	return TCP
}

func ofWord(word string) Protocol {
	if word == "kubernetes.io/grpc" {
		return GRPC
	}
	if known, found := byName[word]; found {
		return known
	}
	return TCP
}

func saysNothing(appProtocol string) bool {
	return appProtocol == "" || strings.EqualFold(appProtocol, string(TCP))
}

// MayBeMySQL reports whether clients of a port may wait for the server to speak
// first, by its name ("mysql", "tcp-mysql", "mysql-primary") or its number. An
// appProtocol says what it is, and leaves nothing to guess. No name stands for
// another protocol: there the client speaks first, and its bytes are better than
// a word.
func MayBeMySQL(appProtocol string, servicePort int32, portName string) bool {
	if !saysNothing(appProtocol) {
		return false
	}
	for word := range strings.SplitSeq(portName, "-") {
		if byName[word] == MySQL {
			return true
		}
	}
	return byNumber[servicePort] == MySQL
}
