package protocol

import (
	"encoding/binary"
	"fmt"
)

// A message of MongoDB has a header of four numbers of four bytes, the lowest first: its
// length, which counts the header, its number, that of the message that it answers, and
// what it is. See https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/.
const (
	mongoDBHeader = 16
	// mongoDBFirst bounds the message with which a client begins: its hello, which has few
	// bytes. It keeps those of MongoDB apart from those of others.
	mongoDBFirst = 1<<16 - 1

	opReply = 1
	// opQuery is how drivers say their first hello, so that servers of any age read it.
	opQuery = 2004
	opMsg   = 2013
)

// shutdownInProgress is what a server answers to every command, the hello included, while
// it shuts down. Drivers then take the server for unknown: they keep it in their list, ask
// again every half second while an operation waits for a server, and in the end show this
// error. A hello that succeeds would have to name a role, and a set of replicas loses the
// servers that name another one than it expects.
//
// There is no topologyVersion: by one, drivers would tell which of two answers is older, and
// wait for the next one on the same connection.
const (
	shutdownInProgress     = 91
	shutdownInProgressName = "ShutdownInProgress"
)

// parseMongoDB reads the header of a client's first message; ok reports whether it is one.
func parseMongoDB(header []byte) (number, code uint32, ok bool) {
	length := binary.LittleEndian.Uint32(header)
	answered := binary.LittleEndian.Uint32(header[8:])
	number, code = binary.LittleEndian.Uint32(header[4:]), binary.LittleEndian.Uint32(header[12:])
	isCode := code == opQuery || code == opMsg
	return number, code, isCode && answered == 0 && length > mongoDBHeader && length <= mongoDBFirst
}

// refuseMongoDB answers the first command, whatever it is, and leaves the rest of it unread.
// A driver begins each connection with a hello, compresses nothing before it has an answer,
// and has to leave if the command fails.
func refuseMongoDB(peer *client, message string) error {
	header, err := peer.in.Peek(mongoDBHeader)
	switch {
	case hasLeft(err) && len(header) == 0:
		return nil
	case err != nil:
		return cutShort(err)
	}
	number, code, ok := parseMongoDB(header)
	if !ok {
		return fmt.Errorf("the client sends no command of MongoDB, but % x", header)
	}
	_, err = peer.out.Write(mongoDBReply(number, code, mongoDBError(message)))
	return err
}

// mongoDBReply is a document in answer to the message of this number, in the form that
// belongs to its code.
func mongoDBReply(number, code uint32, document []byte) []byte {
	form, before := uint32(opMsg), []byte{
		0, 0, 0, 0, // no flags
		0, // a document follows
	}
	if code == opQuery {
		form, before = opReply, []byte{
			0, 0, 0, 0, // no flags
			0, 0, 0, 0, 0, 0, 0, 0, // no cursor
			0, 0, 0, 0, // from the first document on
			1, 0, 0, 0, // one document
		}
	}
	packet := binary.LittleEndian.AppendUint32([]byte{0, 0, 0, 0, 0, 0, 0, 0}, number)
	packet = binary.LittleEndian.AppendUint32(packet, form)
	packet = append(append(packet, before...), document...)
	binary.LittleEndian.PutUint32(packet, uint32(len(packet))) //nolint:gosec // The message is bounded.
	return packet
}

// mongoDBError is the document {ok: 0, errmsg, code, codeName} in BSON. See
// https://bsonspec.org/spec.html.
func mongoDBError(message string) []byte {
	const isDouble, isString, isInt32 = 0x01, 0x02, 0x10
	document := []byte{0, 0, 0, 0}
	name := func(kind byte, name string) { document = append(append(append(document, kind), name...), 0) }
	number := func(value uint32) { document = binary.LittleEndian.AppendUint32(document, value) }
	text := func(value string) {
		number(uint32(len(value)) + 1) //nolint:gosec // The message is bounded.
		document = append(append(document, value...), 0)
	}
	name(isDouble, "ok")
	document = append(document, make([]byte, 8)...)
	name(isString, "errmsg")
	text(message)
	name(isInt32, "code")
	number(shutdownInProgress)
	name(isString, "codeName")
	text(shutdownInProgressName)
	document = append(document, 0)
	binary.LittleEndian.PutUint32(document, uint32(len(document))) //nolint:gosec // The message is bounded.
	return document
}
