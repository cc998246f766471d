package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The packets with which a client of PostgreSQL may begin: a length, which counts
// itself, and a code, which is the version of the protocol or a request. See
// https://www.postgresql.org/docs/current/protocol-message-formats.html.
const (
	startupHeader = 8
	// startupLimit is the server's MAX_STARTUP_PACKET_LENGTH.
	startupLimit = 10000

	cancelRequest = 1234<<16 | 5678
	sslRequest    = 1234<<16 | 5679
	gssRequest    = 1234<<16 | 5680
	// majorVersion is that of 3.0, of 3.2 and of whatever 3.x may come: an error
	// reads the same in all of them.
	majorVersion = 3

	// startupPackets is how many a client sends at most: it may ask for GSSAPI, then
	// for TLS, and then starts.
	startupPackets = 3
)

// postgreSQLHint is what psql shows below the error, as HINT.
const postgreSQLHint = "No server of this service is ready. Try again later."

// parseStartup reads the header of a packet; ok reports whether it is one.
func parseStartup(header []byte) (length int, code uint32, ok bool) {
	size := binary.BigEndian.Uint32(header)
	code = binary.BigEndian.Uint32(header[4:])
	isCode := code>>16 == majorVersion || code == cancelRequest || code == sslRequest || code == gssRequest
	if !isCode || size < startupHeader || size > startupLimit {
		return 0, 0, false
	}
	return int(size), code, true
}

// refusePostgreSQL declines encryption, so that a client that merely prefers it
// goes on without, and then reports cannot_connect_now, on which libpq tries its
// next host, and pools try again. A client that insists on encryption leaves with
// a message of its own: it would take no error for true that came without.
func refusePostgreSQL(peer *client, message string) error {
	for range startupPackets {
		code, err := readStartup(peer)
		switch {
		case hasLeft(err):
			return nil
		case err != nil:
			return err
		case code == cancelRequest:
			// The query to cancel is gone with its server, and no answer is foreseen.
			return nil
		case code == sslRequest, code == gssRequest:
			if err := peer.out.WriteByte('N'); err != nil {
				return err
			}
		default:
			_, err := peer.out.Write(postgreSQLError(message))
			return err
		}
	}
	return errors.New("the client asks for encryption again and again")
}

// readStartup reads a packet to its end, and gives its code.
func readStartup(peer *client) (uint32, error) {
	var header [startupHeader]byte
	if _, err := io.ReadFull(peer.in, header[:]); err != nil {
		return 0, err
	}
	length, code, ok := parseStartup(header[:])
	if !ok {
		return 0, fmt.Errorf("the client sends no startup packet, but % x", header)
	}
	_, err := peer.in.Discard(length - startupHeader)
	return code, cutShort(err)
}

func postgreSQLError(message string) []byte {
	packet := []byte{'E', 0, 0, 0, 0}
	for _, field := range []string{
		"SFATAL",
		"VFATAL", // never translated
		"C57P03",
		"M" + message,
		"H" + postgreSQLHint,
		"", // the end
	} {
		packet = append(append(packet, field...), 0)
	}
	binary.BigEndian.PutUint32(packet[1:], uint32(len(packet)-1)) //nolint:gosec // The message is bounded.
	return packet
}
