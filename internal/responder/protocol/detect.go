package protocol

import (
	"bytes"
	"strings"
)

// DetectLimit is how many bytes Detect needs at most: given as many, it always
// has enough.
const DetectLimit = 40

// verdict is what a prefix says about one protocol.
type verdict int

const (
	no verdict = iota
	undecided
	yes
)

// detectors, one for each protocol whose clients speak first. No two of them say
// yes to the same bytes, so that a yes stands whatever follows.
var detectors = []struct {
	kind  Kind
	judge func(first []byte) verdict
}{
	{HTTP1, judgeHTTP1},
	{HTTP2, judgeHTTP2},
	{TLS, judgeTLS},
	{PostgreSQL, judgePostgreSQL},
	{Redis, judgeRedis},
	{MongoDB, judgeMongoDB},
	{PROXY, judgePROXY},
}

// Detect says which protocol a client speaks, by the first bytes it sent. If
// enough is false, more bytes are needed, and kind is Unknown for now; with
// DetectLimit bytes it is always true. Once it is true, further bytes change
// nothing.
func Detect(first []byte) (kind Kind, enough bool) {
	first = first[:min(len(first), DetectLimit)]
	enough = true
	for _, detector := range detectors {
		switch detector.judge(first) {
		case yes:
			return detector.kind, true
		case undecided:
			enough = false
		case no:
		}
	}
	return Unknown, enough
}

// judgePrefix compares with bytes that are always the same.
func judgePrefix(first []byte, want string) verdict {
	n := min(len(first), len(want))
	switch {
	case string(first[:n]) != want[:n]:
		return no
	case n < len(want):
		return undecided
	}
	return yes
}

// judgeAny is the best verdict of several prefixes.
func judgeAny(first []byte, wants ...string) verdict {
	best := no
	for _, want := range wants {
		best = max(best, judgePrefix(first, want))
	}
	return best
}

func judgeHTTP2(first []byte) verdict { return judgePrefix(first, "PRI * HTTP/2.0") }

// longestMethod is longer than any registered HTTP method.
const longestMethod = 20

// judgeHTTP1 looks for a method and the beginning of a request target. Methods
// are not listed (PURGE and M-SEARCH are common and not registered), so the target
// makes the difference: Redis and others have inline commands in capitals, too.
func judgeHTTP1(first []byte) verdict {
	first = SkipEmptyLines(first)
	if string(first) == "\r" {
		return undecided
	}
	method, target, found := bytes.Cut(first, []byte(" "))
	for _, c := range method {
		if (c < 'A' || c > 'Z') && c != '-' && c != '_' {
			return no
		}
	}
	switch {
	case len(method) > longestMethod || found && len(method) == 0:
		return no
	case !found:
		return undecided
	case isRedisWord(method):
		return no
	}
	switch string(method) {
	case "CONNECT":
		return judgeAuthority(target)
	case "OPTIONS":
		return judgeAny(target, "/", "*", "http://", "https://")
	}
	return judgeAny(target, "/", "http://", "https://")
}

// emptyLines are how many empty lines may come before a request. RFC 9112 wants at
// least one to be ignored.
const emptyLines = 4

// SkipEmptyLines is what follows the empty lines before a request of HTTP/1.
func SkipEmptyLines(first []byte) []byte {
	for range emptyLines {
		rest, found := bytes.CutPrefix(first, []byte("\r\n"))
		if !found {
			rest, found = bytes.CutPrefix(first, []byte("\n"))
		}
		if !found {
			break
		}
		first = rest
	}
	return first
}

// judgeAuthority looks for the beginning of a host, the target of CONNECT. NATS
// has a command of that name, followed by JSON.
func judgeAuthority(target []byte) verdict {
	if len(target) == 0 {
		return undecided
	}
	c := target[0]
	if c == '[' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
		return yes
	}
	return no
}

// judgeTLS looks for a handshake record of SSL 3.0 to TLS 1.3.
func judgeTLS(first []byte) verdict {
	verdict := judgePrefix(first, "\x16\x03")
	if verdict != yes {
		return verdict
	}
	switch {
	case len(first) < 3:
		return undecided
	case first[2] > 4:
		return no
	case first[2] > 0:
		return yes
	}
	// The length of a message of MongoDB may have these bytes. A hello has a 3, its version of
	// SSL, where the message has a zero.
	const version = 9
	switch {
	case len(first) <= version:
		return undecided
	case first[version] == 0:
		return no
	}
	return yes
}

// judgePostgreSQL looks for one of the packets with which a client may begin:
// all have a length and a code of four bytes each.
func judgePostgreSQL(first []byte) verdict {
	// The length is below 65536, so that two bytes rule out nearly everything else.
	if v := judgePrefix(first, "\x00\x00"); v != yes {
		return v
	}
	if len(first) < startupHeader {
		return undecided
	}
	if _, _, ok := parseStartup(first); !ok {
		return no
	}
	return yes
}

// redisWords are inline commands with which people and health checks begin. None
// is a method of HTTP. Clients proper send arrays.
var redisWords = map[string]bool{
	"AUTH": true, "CLIENT": true, "COMMAND": true, "ECHO": true, "HELLO": true,
	"INFO": true, "PING": true, "QUIT": true, "ROLE": true, "SELECT": true,
}

// longestRedisWord is the length of COMMAND.
const longestRedisWord = 7

func isRedisWord(word []byte) bool {
	return len(word) <= longestRedisWord && redisWords[capitals(word)]
}

// capitals changes ASCII only: Unicode has other letters, such as the long s,
// whose capitals are in ASCII.
func capitals(word []byte) string {
	changed := bytes.Clone(word)
	for i, c := range changed {
		if 'a' <= c && c <= 'z' {
			changed[i] = c - 'a' + 'A'
		}
	}
	return string(changed)
}

// judgeRedis looks for an array of RESP, or a well-known inline command.
func judgeRedis(first []byte) verdict {
	if v := judgePrefix(first, "*"); v != no {
		switch {
		case len(first) > 1 && (first[1] < '0' || first[1] > '9'):
			return no
		case len(first) < 3:
			return undecided
		case first[2] == 0:
			return no // It is a length of MongoDB.
		}
		return yes
	}
	end := bytes.IndexAny(first, " \r\n")
	switch {
	case end >= 0 && isRedisWord(first[:end]):
		return yes
	case end >= 0 || len(first) > longestRedisWord:
		return no
	}
	begun := capitals(first)
	for word := range redisWords {
		if strings.HasPrefix(word, begun) {
			return undecided
		}
	}
	return no
}

// judgeMongoDB looks for the header of a command, whose length rules out nearly everything
// else.
func judgeMongoDB(first []byte) verdict {
	var header [mongoDBHeader]byte
	got := copy(header[:], first)
	_, _, ok := parseMongoDB(header[:])
	switch {
	case header[2] != 0, header[3] != 0:
		return no // It would be longer than a first message is.
	case got >= 4 && header[1] == 0 && header[0] <= mongoDBHeader:
		return no // It would be empty.
	case got < len(header):
		return undecided
	case !ok:
		return no
	}
	return yes
}
