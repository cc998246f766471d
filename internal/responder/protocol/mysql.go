package protocol

import "encoding/binary"

// serverShutdown is ER_SERVER_SHUTDOWN. Drivers know it as the end of a
// connection, after which another attempt is due; the other candidate, 1040 ("too
// many connections"), would send people looking for a leak.
const serverShutdown = 1053

// sqlState is that of serverShutdown, as it precedes a message: a failure of the
// connection. Before the greeting the two sides have not agreed on anything, and by the
// letter there is none. But PyMySQL before 1.1.1, aiomysql and asyncmy skip these six
// bytes in any case, and would cut as many off the message. go-sql-driver, MariaDB's
// connectors, mysqlnd, Connector/J, and PyMySQL of today skip them if they are there,
// and those of MariaDB for Java know the failure by nothing else. Only libmysqlclient
// shows them, before the whole message.
const sqlState = "#08S01"

// refuseMySQL sends an error packet in place of the server's greeting. See
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html.
func refuseMySQL(peer *client, message string) error {
	_, err := peer.out.Write(mySQLError(message))
	return err
}

func mySQLError(message string) []byte {
	// A length of three bytes, the number of the packet, then the payload.
	packet := []byte{0, 0, 0, 0, 0xff}
	packet = binary.LittleEndian.AppendUint16(packet, serverShutdown)
	packet = append(packet, sqlState...)
	packet = append(packet, message...)
	binary.LittleEndian.PutUint16(packet, uint16(len(packet)-4)) //nolint:gosec // The message is bounded.
	return packet
}
