package probe

import (
	"context"

	"github.com/critical-service/operator/internal/contract/appprotocol"
)

// speaker knows one protocol.
type speaker struct {
	// ask says why a client comes, and gives the status of the answer. It reads of conn
	// only, and until the answer has ended.
	ask func(ctx context.Context, conn *recorder, target Target) (status string, err error)
	// begins reports whether an answer may begin with these bytes; there is at least
	// one.
	begins func(first []byte) bool
}

var speakers = map[appprotocol.Protocol]speaker{
	appprotocol.HTTP:       {askHTTP, beginsHTTP},
	appprotocol.H2C:        {askHTTP, beginsHTTP2},
	appprotocol.GRPC:       {askGRPC, beginsHTTP2},
	appprotocol.PostgreSQL: {askPostgreSQL, beginsPostgreSQL},
	appprotocol.MySQL:      {askMySQL, beginsMySQL},
	appprotocol.Redis:      {askRedis, beginsRedis},
	appprotocol.MongoDB:    {askMongoDB, beginsMongoDB},
	appprotocol.TLS:        {askTLS, beginsTLS},
	appprotocol.TCP:        {askTCP, func([]byte) bool { return true }},
}
