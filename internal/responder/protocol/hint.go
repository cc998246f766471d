package protocol

import "github.com/critical-service/operator/internal/contract/appprotocol"

// kindOf is how the clients of a protocol begin.
var kindOf = map[appprotocol.Protocol]Kind{
	appprotocol.HTTP: HTTP1, appprotocol.H2C: HTTP2, appprotocol.GRPC: HTTP2, appprotocol.TLS: TLS,
	appprotocol.PostgreSQL: PostgreSQL, appprotocol.MySQL: MySQL, appprotocol.Redis: Redis,
	appprotocol.MongoDB: MongoDB,
}

// FromAppProtocol says which protocol a port of a Service speaks, by its
// appProtocol. If ok is false, it is Unknown until a client has sent its first bytes.
//
// It is a hint: a client that opens with TLS or HTTP on a port hinted to be one of
// PostgreSQL or Redis is to be answered by its first bytes.
func FromAppProtocol(appProtocol string) (kind Kind, ok bool) {
	named, ok := appprotocol.Named(appProtocol)
	if !ok {
		return Unknown, false
	}
	return kindOf[named], true
}
