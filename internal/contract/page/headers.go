package page

import (
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

const (
	maxHeaders     = 64
	maxHeaderBytes = 8 << 10
)

// reserved headers belong to the connection, to the framing of the answer, or
// to what the responder promises: that nothing is stored, and when to try again.
var reserved = []string{
	"Age", "Alt-Svc", "Cache-Control", "Connection", "Content-Encoding", "Content-Length", "Content-Range",
	"Content-Type", "Date", "Etag", "Expect", "Expires", "Host", "Http2-Settings", "Keep-Alive",
	"Last-Modified", "Pragma", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Retry-After",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// headers reads lines "Name: value". Empty lines and lines that begin with #
// are skipped.
func (r *reader) headers(value []byte) {
	size := 0
	for line := range strings.Lines(string(value)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, text, found := strings.Cut(line, ":")
		name, text = textproto.CanonicalMIMEHeaderKey(name), strings.TrimSpace(text)
		switch {
		case !found || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(text):
			r.problem(KeyHeaders, "the line %.80q is not \"Name: value\"; it is skipped", line)
		case slices.Contains(reserved, name) || strings.HasPrefix(name, "Grpc-"):
			r.problem(KeyHeaders, "%.80s is set by the responder itself; the line is skipped", name)
		case len(r.content.Headers) == maxHeaders || size+len(line) > maxHeaderBytes:
			r.problem(KeyHeaders, "more than %d headers or %d bytes; the rest is skipped", maxHeaders, maxHeaderBytes)
			return
		default:
			size += len(line)
			r.content.Headers = append(r.content.Headers, Header{Name: name, Value: text})
		}
	}
}
