package protocol

import (
	"encoding/binary"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// startup is a packet with which a client of PostgreSQL begins.
func startup(code uint32, body string) string {
	packet := binary.BigEndian.AppendUint32(nil, uint32(startupHeader+len(body))) //nolint:gosec // Tests write little.
	packet = binary.BigEndian.AppendUint32(packet, code)
	return string(packet) + body
}

// mongoDBMessage is the header of a message of MongoDB, which has the number 7.
func mongoDBMessage(code, length uint32) string {
	header := binary.LittleEndian.AppendUint32(nil, length)
	header = append(header, 7, 0, 0, 0, 0, 0, 0, 0)
	return string(binary.LittleEndian.AppendUint32(header, code))
}

const (
	version30 = 3 << 16
	version32 = 3<<16 | 2
	// hello10 and hello13 begin a ClientHello as clients of TLS 1.0 and 1.3 send it.
	hello10 = "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x01"
	hello13 = "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03"
)

func TestDetect(t *testing.T) {
	tests := map[string]struct {
		first string
		want  Kind
		more  bool // bytes are needed
	}{
		"nothing says nothing":                          {first: "", want: Unknown, more: true},
		"a GET is HTTP/1":                               {first: "GET / HTTP/1.1\r\n", want: HTTP1},
		"a GET is known by the slash":                   {first: "GET /", want: HTTP1},
		"a method alone could be of Redis":              {first: "GET ", want: Unknown, more: true},
		"a GET of Redis is not HTTP":                    {first: "GET key\r\n", want: Unknown},
		"a GET through a proxy is HTTP/1":               {first: "GET http://shop/ HTTP/1.1", want: HTTP1},
		"a method that is not registered is HTTP/1":     {first: "PURGE /a HTTP/1.1", want: HTTP1},
		"a method with a dash is HTTP/1":                {first: "VERSION-CONTROL /a HTTP/1.1", want: HTTP1},
		"OPTIONS of a server is HTTP/1":                 {first: "OPTIONS * HTTP/1.1", want: HTTP1},
		"a star is no target of other methods":          {first: "KEYS *\r\n", want: Unknown},
		"CONNECT of a host is HTTP/1":                   {first: "CONNECT shop:443 HTTP/1.1", want: HTTP1},
		"CONNECT of NATS is not":                        {first: "CONNECT {\"verbose\":false}\r\n", want: Unknown},
		"RTSP is not HTTP":                              {first: "DESCRIBE rtsp://camera/1 RTSP/1.0\r\n", want: Unknown},
		"a method in small letters is none":             {first: "get / HTTP/1.1\r\n", want: Unknown},
		"an endless method is none":                     {first: strings.Repeat("A", 21), want: Unknown},
		"the preface is HTTP/2":                         {first: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", want: HTTP2},
		"half the preface is not enough":                {first: "PRI * HTTP", want: Unknown, more: true},
		"a handshake of TLS 1.0 is TLS":                 {first: hello10, want: TLS},
		"a handshake of TLS 1.3 is TLS":                 {first: hello13, want: TLS},
		"TLS is known by three bytes":                   {first: "\x16\x03\x03", want: TLS},
		"two bytes of TLS are not enough":               {first: "\x16\x03", want: Unknown, more: true},
		"TLS of a version that never was is none":       {first: "\x16\x03\x20", want: Unknown},
		"a startup of protocol 3.0 is PostgreSQL":       {first: startup(version30, "user\x00me\x00\x00"), want: PostgreSQL},
		"a startup of protocol 3.2 is PostgreSQL":       {first: startup(version32, "user\x00me\x00\x00"), want: PostgreSQL},
		"a startup of a protocol to come is PostgreSQL": {first: startup(3<<16|9999, "user\x00me\x00\x00"), want: PostgreSQL},
		"an SSLRequest is PostgreSQL":                   {first: startup(sslRequest, ""), want: PostgreSQL},
		"a GSSENCRequest is PostgreSQL":                 {first: startup(gssRequest, ""), want: PostgreSQL},
		"a CancelRequest is PostgreSQL":                 {first: startup(cancelRequest, "\x00\x00\x00\x01\x00\x00\x00\x02"), want: PostgreSQL},
		"half an SSLRequest is not enough":              {first: startup(sslRequest, "")[:5], want: Unknown, more: true},
		"a startup that is too long is none":            {first: "\x00\x00\xff\xff\x00\x03\x00\x00", want: Unknown},
		"a startup shorter than its header is none":     {first: "\x00\x00\x00\x04\x00\x03\x00\x00", want: Unknown},
		"a startup of protocol 2.0 is none":             {first: "\x00\x00\x01\x28\x00\x02\x00\x00", want: Unknown},
		"an array of RESP is Redis":                     {first: "*1\r\n$4\r\nPING\r\n", want: Redis},
		"an array of RESP is known by three bytes":      {first: "*3\r", want: Redis},
		"two bytes could be a length of MongoDB":        {first: "*3", want: Unknown, more: true},
		"a star alone is not enough":                    {first: "*", want: Unknown, more: true},
		"a star before anything else is not Redis":      {first: "*ab", want: Unknown},
		"PING is Redis":                                 {first: "PING\r\n", want: Redis},
		"PING in small letters is Redis":                {first: "ping\n", want: Redis},
		"PING without its end could be a method":        {first: "PING", want: Unknown, more: true},
		"AUTH is Redis, whatever the password":          {first: "AUTH /secret\r\n", want: Redis},
		"a command in small letters needs its end":      {first: "inf", want: Unknown, more: true},
		"a letter whose capital is in ASCII is not":     {first: "ſo", want: Unknown},
		"a command that Redis lacks is unknown":         {first: "MAIL FROM:<me@example.com>\r\n", want: Unknown},
		"MQTT is unknown":                               {first: "\x10\x10\x00\x04MQTT\x04\x02", want: Unknown},
		"SSH is unknown":                                {first: "SSH-2.0-OpenSSH_9.2\r\n", want: Unknown},
		"an empty line before a GET is HTTP/1":          {first: "\r\nGET / HTTP/1.1\r\n", want: HTTP1},
		"an empty line may be cut":                      {first: "\r\n\r", want: Unknown, more: true},
		"many empty lines are unknown":                  {first: "\n\n\n\n\nGET / HTTP/1.1\r\n", want: Unknown},
		"version 1 of PROXY is PROXY":                   {first: "PROXY TCP4 1.2.3.4 1.2.3.5 1 2\r\n", want: PROXY},
		"version 1 of PROXY of an unknown origin":       {first: "PROXY UNKNOWN\r\n", want: PROXY},
		"version 2 of PROXY is PROXY":                   {first: "\r\n\r\n\x00\r\nQUIT\n\x21", want: PROXY},
		"half of version 2 is not enough":               {first: "\r\n\r\n\x00\r\n", want: Unknown, more: true},
		"a method called PROXY is HTTP/1":               {first: "PROXY / HTTP/1.1\r\n", want: HTTP1},
		"a command in an OP_MSG is MongoDB":             {first: mongoDBMessage(opMsg, 300), want: MongoDB},
		"a command in an OP_QUERY is MongoDB":           {first: mongoDBMessage(opQuery, 300), want: MongoDB},
		"half a header of MongoDB is not enough":        {first: mongoDBMessage(opMsg, 300)[:15], want: Unknown, more: true},
		"MongoDB with a length that begins as TLS":      {first: mongoDBMessage(opMsg, 0x0316), want: MongoDB},
		"TLS in a record of SSL 3.0 is TLS":             {first: "\x16\x03\x00\x00\x52\x01\x00\x00\x4e\x03\x03", want: TLS},
		"half of that could be MongoDB":                 {first: "\x16\x03\x00\x00\x52\x01\x00\x00\x4e", want: Unknown, more: true},
		"MongoDB with a length that begins as Redis":    {first: mongoDBMessage(opMsg, 0x332a), want: MongoDB},
		"MongoDB with a length that begins as HTTP":     {first: mongoDBMessage(opQuery, 0x4547), want: MongoDB},
		"a reply of MongoDB is none of a client":        {first: mongoDBMessage(opReply, 300), want: Unknown},
		"a compressed message never comes first":        {first: mongoDBMessage(2012, 300), want: Unknown},
		"a message of MongoDB without content is none":  {first: mongoDBMessage(opMsg, mongoDBHeader), want: Unknown},
		"a first message of MongoDB is not that long":   {first: mongoDBMessage(opMsg, mongoDBFirst+1), want: Unknown},
		"an answer of MongoDB is none of a client":      {first: "\x2c\x01\x00\x00\x07\x00\x00\x00\x01\x00\x00\x00\xdd\x07\x00\x00", want: Unknown},
		"Cassandra is unknown":                          {first: "\x04\x00\x00\x00\x05\x00\x00\x00\x00", want: Unknown},
		"zeros are unknown":                             {first: strings.Repeat("\x00", DetectLimit), want: Unknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			kind, enough := Detect([]byte(test.first))
			g.Expect(kind).To(Equal(test.want))
			g.Expect(enough).To(Equal(!test.more))
		})
	}
}

func TestFromAppProtocol(t *testing.T) {
	tests := map[string]struct {
		appProtocol string
		want        Kind
	}{
		"nothing is said":                   {"", Unknown},
		"tcp says nothing":                  {"tcp", Unknown},
		"http is HTTP/1":                    {"http", HTTP1},
		"capitals do not matter":            {"HTTP", HTTP1},
		"WebSocket begins as HTTP/1":        {"kubernetes.io/ws", HTTP1},
		"h2c is HTTP/2":                     {"kubernetes.io/h2c", HTTP2},
		"gRPC is HTTP/2":                    {"grpc", HTTP2},
		"https is TLS":                      {"https", TLS},
		"WebSocket over TLS is TLS":         {"kubernetes.io/wss", TLS},
		"postgresql is PostgreSQL":          {"postgresql", PostgreSQL},
		"mysql is MySQL":                    {"mysql", MySQL},
		"mariadb is MySQL":                  {"mariadb", MySQL},
		"redis is Redis":                    {"redis", Redis},
		"mongodb is MongoDB":                {"mongodb", MongoDB},
		"mongo is MongoDB":                  {"Mongo", MongoDB},
		"an unknown appProtocol is sniffed": {"example.com/own", Unknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			kind, ok := FromAppProtocol(test.appProtocol)
			g.Expect(kind).To(Equal(test.want))
			g.Expect(ok).To(Equal(test.want != Unknown))
		})
	}
}
