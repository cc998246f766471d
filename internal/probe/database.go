package probe

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/critical-service/operator/internal/contract/listener"
)

// messageLimit bounds what a database may say in one message.
const messageLimit = 16 << 10

// postgreSQLVersion is 3.0, which every server knows.
const postgreSQLVersion = 3 << 16

// askPostgreSQL starts a session and leaves as soon as the server has said whether
// it wants to know more. See
// https://www.postgresql.org/docs/current/protocol-message-formats.html.
func askPostgreSQL(_ context.Context, conn *recorder, _ Target) (string, error) {
	packet := binary.BigEndian.AppendUint32(make([]byte, 4), postgreSQLVersion)
	packet = append(packet, "user\x00"+listener.SelfTestAgent+"\x00\x00"...)
	binary.BigEndian.PutUint32(packet, uint32(len(packet))) //nolint:gosec // It is short.
	if _, err := conn.Write(packet); err != nil {
		return "", err
	}
	var header [5]byte
	in := bufio.NewReader(conn)
	if _, err := io.ReadFull(in, header[:]); err != nil {
		return "", err
	}
	length := int64(binary.BigEndian.Uint32(header[1:])) - 4 // It counts itself.
	if length < 0 || length > messageLimit {
		return "", fmt.Errorf("a message of %d bytes", length)
	}
	message := make([]byte, length)
	if _, err := io.ReadFull(in, message); err != nil {
		return "", err
	}
	if header[0] != 'E' {
		return "authentication requested", nil
	}
	for field := range bytes.SplitSeq(message, []byte{0}) {
		if state, isState := bytes.CutPrefix(field, []byte("C")); isState {
			return string(state), nil
		}
	}
	return "", fmt.Errorf("an error without a SQLSTATE: %q", message)
}

// beginsPostgreSQL looks for an error, a notice, a request to authenticate or an
// offer of an older version.
func beginsPostgreSQL(first []byte) bool {
	return strings.IndexByte("ENRv", first[0]) >= 0 && hasPrefix(first[1:], "\x00\x00")
}

// askMySQL waits for the server, which speaks first: it greets, or says why not.
// See https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html.
func askMySQL(_ context.Context, conn *recorder, _ Target) (string, error) {
	var header [4]byte
	in := bufio.NewReader(conn)
	if _, err := io.ReadFull(in, header[:]); err != nil {
		return "", err
	}
	length := int(header[0]) | int(header[1])<<8 | int(header[2])<<16
	if length < 3 || length > messageLimit {
		return "", fmt.Errorf("a packet of %d bytes", length)
	}
	packet := make([]byte, length)
	if _, err := io.ReadFull(in, packet); err != nil {
		return "", err
	}
	if packet[0] == mySQLError {
		return strconv.Itoa(int(binary.LittleEndian.Uint16(packet[1:]))), nil
	}
	return "greeting", nil
}

const (
	mySQLError    = 0xff
	mySQLGreeting = 10
)

// beginsMySQL looks for the first packet (number 0) of a few bytes, which is a
// greeting or an error.
func beginsMySQL(first []byte) bool {
	if len(first) < 5 {
		return len(first) < 4 || first[3] == 0
	}
	return first[2] == 0 && first[3] == 0 && (first[4] == mySQLError || first[4] == mySQLGreeting)
}

// askRedis sends a PING with an argument, which a server gives back.
func askRedis(_ context.Context, conn *recorder, _ Target) (string, error) {
	name := listener.SelfTestAgent
	if _, err := fmt.Fprintf(conn, "*2\r\n$4\r\nPING\r\n$%d\r\n%s\r\n", len(name), name); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(io.LimitReader(conn, messageLimit)).ReadString('\n')
	if err != nil {
		return "", err
	}
	if refusal, isError := strings.CutPrefix(line, "-"); isError {
		word, _, _ := strings.Cut(strings.TrimSpace(refusal), " ")
		return word, nil
	}
	return "PONG", nil
}

// beginsRedis looks for an error, a text or a string with its length.
func beginsRedis(first []byte) bool { return strings.IndexByte("-+$", first[0]) >= 0 }

const (
	// mongoDBHeader is the length of a message's own length, its number, that of the message
	// that it answers, and of what it is, which is opMsg.
	mongoDBHeader = 16
	opMsg         = 2013
)

// askMongoDB sends a hello, which needs no login. See
// https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/.
func askMongoDB(_ context.Context, conn *recorder, _ Target) (string, error) {
	message := []byte{
		0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, opMsg & 0xff, opMsg >> 8, 0, 0,
		0, 0, 0, 0, 0, // no flags, and a document
	}
	document := []byte("\x00\x00\x00\x00\x10hello\x00\x01\x00\x00\x00\x02$db\x00\x06\x00\x00\x00admin\x00\x02comment\x00")
	document = binary.LittleEndian.AppendUint32(document, uint32(len(listener.SelfTestAgent))+1)
	document = append(document, listener.SelfTestAgent+"\x00\x00"...)
	binary.LittleEndian.PutUint32(document, uint32(len(document))) //nolint:gosec // It is short.
	message = append(message, document...)
	binary.LittleEndian.PutUint32(message, uint32(len(message))) //nolint:gosec // It is short.
	if _, err := conn.Write(message); err != nil {
		return "", err
	}
	var header [mongoDBHeader]byte
	in := bufio.NewReader(conn)
	if _, err := io.ReadFull(in, header[:]); err != nil {
		return "", err
	}
	length := binary.LittleEndian.Uint32(header[:])
	if length < mongoDBHeader || length > messageLimit {
		return "", fmt.Errorf("a message of %d bytes", length)
	}
	answer := make([]byte, length-mongoDBHeader)
	if _, err := io.ReadFull(in, answer); err != nil {
		return "", err
	}
	_, name, isFailure := bytes.Cut(answer, []byte("\x02codeName\x00"))
	switch {
	case isFailure && len(name) > 4:
		name, _, _ = bytes.Cut(name[4:], []byte{0}) // After its length.
		return string(name), nil
	case !bytes.Contains(answer, []byte("ok\x00")): // A number, of a type that differs.
		return "", errors.New("neither a success nor a failure")
	}
	return "hello", nil
}

// beginsMongoDB looks for the header of a short message.
func beginsMongoDB(first []byte) bool {
	var header [mongoDBHeader]byte
	isWhole := copy(header[:], first) == len(header)
	return header[2] == 0 && header[3] == 0 && (!isWhole || binary.LittleEndian.Uint32(header[12:]) == opMsg)
}
