package protocol

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzDetect holds Detect to its promises.
func FuzzDetect(f *testing.F) {
	for _, seed := range []string{
		"", "GET / HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", hello13, startup(version32, "user\x00"),
		startup(sslRequest, ""), "*1\r\n$4\r\nPING\r\n", "ping\r\n", "\r\nGET / HTTP/1.1", "PROXY TCP6 ",
		mongoDBMessage(opMsg, 0x332a), mongoDBMessage(opQuery, 0x0316), "\r\n\r\n\x00\r\nQUIT\n", "CONNECT a:1 HTTP/1.1", "OPTIONS * HTTP/1.1",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, first []byte) {
		settled := Unknown
		decided := false
		for n := range len(first) + 1 {
			kind, enough := Detect(first[:n])
			switch {
			case decided && (kind != settled || !enough):
				t.Fatalf("after %d bytes it is %s, and no longer %s", n, kind, settled)
			case !enough && kind != Unknown:
				t.Fatalf("it is %s, and yet %d bytes are not enough", kind, n)
			case !enough && n >= DetectLimit:
				t.Fatalf("%d bytes are not enough", n)
			case kind == MySQL:
				t.Fatal("a client of MySQL does not speak first")
			}
			settled, decided = kind, enough
		}
	})
}

// fuzzRefuse lets a client say anything, and expects an answer of the right form.
// That Refuse returns, and closes, is seen by the test not hanging.
func fuzzRefuse(f *testing.F, kind Kind, form func(t *testing.T, heard string), seeds ...string) {
	f.Helper()
	for _, seed := range append(seeds, "", hello13, "GET / HTTP/1.1\r\n\r\n", "\xff\xff\xff\xff") {
		f.Add([]byte(seed), len(seed)/2, testMessage)
	}
	f.Fuzz(func(t *testing.T, says []byte, already int, message string) {
		already = max(0, min(already, len(says)))
		heard, _ := refuse(t.Context(), kind, string(says[:already]), bytes.NewReader(says[already:]), message)
		form(t, heard)
	})
}

func isAlert(heard string) bool {
	return len(heard) == 7 && strings.HasPrefix(heard, "\x15\x03") && strings.HasSuffix(heard, "\x00\x02\x02\x50")
}

func FuzzRefusePostgreSQL(f *testing.F) {
	hello := startup(version30, "user\x00me\x00\x00")
	fuzzRefuse(f, PostgreSQL, func(t *testing.T, heard string) {
		t.Helper()
		packet := strings.TrimLeft(heard, "N")
		if len(heard)-len(packet) > startupPackets {
			t.Fatalf("too many refusals of encryption: %q", heard)
		}
		if packet == "" || isAlert(packet) {
			return
		}
		if packet[0] != 'E' || len(packet) < 5 || int(binary.BigEndian.Uint32([]byte(packet[1:5]))) != len(packet)-1 {
			t.Fatalf("no error packet: %q", packet)
		}
		fields := strings.Split(packet[5:], "\x00")
		if len(fields) != 7 || fields[2] != "C57P03" || !utf8.ValidString(fields[3]) || fields[5] != "" || fields[6] != "" {
			t.Fatalf("not the fields of an error: %q", fields)
		}
	}, hello, startup(sslRequest, "")+hello, startup(gssRequest, "")+startup(sslRequest, "")+hello,
		startup(cancelRequest, "\x00\x00\x00\x01\x00\x00\x00\x02"), hello[:9])
}

func FuzzRefuseMySQL(f *testing.F) {
	fuzzRefuse(f, MySQL, func(t *testing.T, heard string) {
		t.Helper()
		if len(heard) < 8 || int(binary.LittleEndian.Uint32([]byte(heard))) != len(heard)-4 ||
			!strings.HasPrefix(heard[4:], "\xff\x1d\x04#08S01") || len(heard) > 512 || strings.Contains(heard[7:], "\x00") {
			t.Fatalf("no error packet: %q", heard)
		}
	}, "\x20\x00\x00\x01\x85\xa6\xff\x19")
}

func FuzzRefuseRedis(f *testing.F) {
	fuzzRefuse(f, Redis, func(t *testing.T, heard string) {
		t.Helper()
		if heard == "" || isAlert(heard) {
			return
		}
		if !strings.HasSuffix(heard, "\r\n") {
			t.Fatalf("a reply without an end: %q", heard)
		}
		replies := strings.Split(strings.TrimSuffix(heard, "\r\n"), "\r\n")
		for i, reply := range replies {
			isLast := i == len(replies)-1
			isRefusal := strings.HasPrefix(reply, "-LOADING ")
			isLastReply := reply == "+OK" || reply == "-ERR Protocol error"
			if strings.ContainsAny(reply, "\r\n") || !isRefusal && !isLastReply || isLastReply && !isLast {
				t.Fatalf("reply %d is wrong: %q", i, heard)
			}
		}
	}, "PING\r\n", "*1\r\n$4\r\nQUIT\r\n", "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\nPING\r\n", "*-1\r\n", "*1\r\n$99999999999\r\n", "\r\n\n")
}

func FuzzRefuseMongoDB(f *testing.F) {
	hello := helloOfMongoDB
	fuzzRefuse(f, MongoDB, func(t *testing.T, heard string) {
		t.Helper()
		if heard == "" {
			return
		}
		if len(heard) < mongoDBHeader || len(heard) > bufferSize || int(binary.LittleEndian.Uint32([]byte(heard))) != len(heard) {
			t.Fatalf("no message: %q", heard)
		}
		document := heard[mongoDBHeader:]
		switch code := binary.LittleEndian.Uint32([]byte(heard[12:])); code {
		case opMsg:
			document = strings.TrimPrefix(document, "\x00\x00\x00\x00\x00")
		case opReply:
			document = strings.TrimPrefix(document, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00")
		default:
			t.Fatalf("an answer of the form %d", code)
		}
		if int(binary.LittleEndian.Uint32([]byte(document))) != len(document) || !strings.HasPrefix(document[4:], "\x01ok\x00"+"\x00\x00\x00\x00\x00\x00\x00\x00"+"\x02errmsg\x00") {
			t.Fatalf("no failure: %q", document)
		}
	}, hello, hello[:20], mongoDBMessage(opMsg, mongoDBFirst), mongoDBMessage(opMsg, 1<<31), mongoDBMessage(2012, 300))
}

func FuzzRefuseTLS(f *testing.F) {
	fuzzRefuse(f, TLS, func(t *testing.T, heard string) {
		t.Helper()
		if heard != "" && !isAlert(heard) {
			t.Fatalf("no alert: %q", heard)
		}
	}, hello10, hello13[:6], "\x16\x03\x00")
}

func FuzzRefuseUnknown(f *testing.F) {
	fuzzRefuse(f, Unknown, func(t *testing.T, heard string) {
		t.Helper()
		if heard != "" {
			t.Fatalf("it said %q", heard)
		}
	}, "\x10\x10\x00\x04MQTT")
}

// FuzzSentence holds the message to what every protocol can carry.
func FuzzSentence(f *testing.F) {
	f.Add("Back at nine.\r\n\x00#")
	f.Fuzz(func(t *testing.T, text string) {
		said := sentence(text)
		if said == "" || len(said) > messageLimit || !utf8.ValidString(said) || strings.ContainsAny(said, "\x00\r\n\x1b") {
			t.Fatalf("it would say %q", said)
		}
		if sentence(said) != said {
			t.Fatalf("saying it twice changes it: %q, then %q", said, sentence(said))
		}
	})
}
