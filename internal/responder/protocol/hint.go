package protocol

import "strings"

// mysqlPort is MySQL's well-known port.
const mysqlPort = 3306

// byAppProtocol holds IANA service names, the names that Kubernetes defines, and
// those that meshes and gateways use besides. In "tcp" nothing is said: such a
// port counts as one without an appProtocol.
var byAppProtocol = map[string]Kind{
	"http":              HTTP1,
	"grpc-web":          HTTP1,
	"ws":                HTTP1,
	"kubernetes.io/ws":  HTTP1,
	"h2c":               HTTP2,
	"http2":             HTTP2,
	"grpc":              HTTP2,
	"kubernetes.io/h2c": HTTP2,
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
}

// namesOfMySQL are the words in the name of a port by which it may be one of MySQL.
// No name stands for another protocol: there the client speaks first, and its
// bytes are better than a word.
var namesOfMySQL = map[string]bool{"mysql": true, "mariadb": true}

// FromAppProtocol says which protocol a port of a Service speaks, by its
// appProtocol. If ok is false, the first bytes of a client tell.
//
// It is a hint: a client that opens with TLS or HTTP on a port hinted to be one of
// PostgreSQL or Redis is to be answered by its first bytes.
func FromAppProtocol(appProtocol string) (kind Kind, ok bool) {
	if kind, ok = byAppProtocol[strings.ToLower(appProtocol)]; ok {
		return kind, true
	}
	return Unknown, false
}

// MayBeMySQL tells whether clients of a port may wait for the server to speak
// first, by its name ("mysql", "tcp-mysql", "mysql-primary") or its number. An
// appProtocol says what it is, and leaves nothing to guess.
func MayBeMySQL(appProtocol string, servicePort int32, portName string) bool {
	if said := strings.ToLower(appProtocol); said != "" && said != "tcp" {
		return false
	}
	for word := range strings.SplitSeq(portName, "-") {
		if namesOfMySQL[word] {
			return true
		}
	}
	return servicePort == mysqlPort
}
