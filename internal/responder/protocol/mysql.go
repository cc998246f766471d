package protocol

import (
	"encoding/binary"
	"strings"
)

// serverShutdown is ER_SERVER_SHUTDOWN. Drivers know it as the end of a
// connection (SQLSTATE 08S01), after which another attempt is due; the other
// candidate, 1040 ("too many connections"), would send people looking for a leak.
const serverShutdown = 1053

// refuseMySQL sends an error packet in place of the server's greeting. At that
// point the two sides have not agreed on anything, so the packet has the form of
// before MySQL 4.1, without a SQLSTATE: clients derive it from the number. See
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html.
func refuseMySQL(peer *client, message string) error {
	_, err := peer.out.Write(mySQLError(message))
	return err
}

func mySQLError(message string) []byte {
	// A "#" would announce a SQLSTATE.
	message = strings.TrimLeft(message, "# ")
	if message == "" {
		message = defaultMessage
	}
	// A length of three bytes, the number of the packet, then the payload.
	packet := []byte{0, 0, 0, 0, 0xff}
	packet = binary.LittleEndian.AppendUint16(packet, serverShutdown)
	packet = append(packet, message...)
	binary.LittleEndian.PutUint16(packet, uint16(len(packet)-4)) //nolint:gosec // The message is bounded.
	return packet
}
