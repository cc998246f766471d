package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"time"
)

// silentTime is how long a connection is watched on which neither side sends: a
// proxy without a server behind it accepts, and resets at once.
const silentTime = 200 * time.Millisecond

// askTCP sends nothing. Silence is right then, and so are a greeting and a clean
// end; only a reset is not.
func askTCP(ctx context.Context, conn *recorder, _ Target) (string, error) {
	const accepted = "connection accepted"
	looked, cancel := context.WithTimeout(ctx, silentTime)
	defer cancel()
	defer context.AfterFunc(looked, func() { _ = conn.Close() })()
	_, err := conn.Read(make([]byte, 1))
	if err == nil || errors.Is(err, io.EOF) || looked.Err() != nil && ctx.Err() == nil {
		return accepted, nil
	}
	return "", err
}

// askTLS shakes hands. An alert is an answer, too: it is all that a server without
// a certificate can say. Whose certificate it is does not matter, as nothing
// follows.
func askTLS(ctx context.Context, conn *recorder, target Target) (string, error) {
	name, _, err := net.SplitHostPort(target.Host)
	if err != nil {
		name = target.Host
	}
	client := tls.Client(conn, &tls.Config{
		ServerName: name, InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, //nolint:gosec // Nothing is said.
	})
	err = client.HandshakeContext(ctx)
	switch operation, isOperation := errors.AsType[*net.OpError](err); {
	case isOperation && operation.Op == "remote error":
		return "alert: " + strings.TrimPrefix(operation.Err.Error(), "tls: "), nil
	case err != nil:
		return "", err
	}
	return tls.VersionName(client.ConnectionState().Version), nil
}

// beginsTLS looks for a record of a handshake or of an alert.
func beginsTLS(first []byte) bool {
	return hasPrefix(first, "\x16\x03") || hasPrefix(first, "\x15\x03")
}
