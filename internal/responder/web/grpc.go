package web

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// dialect is how a request speaks gRPC.
type dialect int

const (
	notGRPC dialect = iota
	// nativeGRPC needs HTTP/2. Over HTTP/1.1 it is a request like any other: the
	// client takes a status of 503 for UNAVAILABLE.
	nativeGRPC
	webGRPC
	webTextGRPC
)

func dialectOf(r *http.Request) dialect {
	media, _, _ := strings.Cut(strings.ToLower(r.Header.Get("Content-Type")), ";")
	suffix, isGRPC := strings.CutPrefix(strings.TrimSpace(media), "application/grpc")
	base, _, _ := strings.Cut(suffix, "+")
	switch {
	case !isGRPC || r.Method != http.MethodPost:
		return notGRPC
	case base == "" && r.ProtoMajor == 2:
		return nativeGRPC
	case base == "-web":
		return webGRPC
	case base == "-web-text":
		return webTextGRPC
	}
	return notGRPC
}

// Codes of gRPC (google.golang.org/grpc/codes, which is not worth its module).
const (
	codeOK          = 0
	codeUnavailable = 14
)

// The methods of grpc.health.v1.Health. Watch says NOT_SERVING and then ends,
// where others stay open: an open stream would keep the client here after the
// real Pods are back.
const (
	healthCheck = "/grpc.health.v1.Health/Check"
	healthWatch = "/grpc.health.v1.Health/Watch"
)

// Replies of grpc.health.v1.Health with their frame: not compressed, two bytes
// long, field 1 of HealthCheckResponse.
const (
	replyServing    = "\x00\x00\x00\x00\x02\x08\x01"
	replyNotServing = "\x00\x00\x00\x00\x02\x08\x02"
)

func (s *Site) serveGRPC(w http.ResponseWriter, r *http.Request, dialect dialect, probe bool) {
	header := w.Header()
	header.Set("Content-Type", r.Header.Get("Content-Type"))
	if dialect != nativeGRPC {
		s.addHeaders(header)
		header.Add("Access-Control-Expose-Headers", "grpc-status, grpc-message, grpc-status-details-bin")
	}
	switch {
	case probe && r.URL.Path == healthCheck:
		reply(w, dialect, replyServing, trailer{code: codeOK})
	case probe:
		trailer{code: codeOK}.set(header, "")
		w.WriteHeader(http.StatusOK)
	case r.URL.Path == healthCheck:
		reply(w, dialect, replyNotServing, trailer{code: codeOK})
	case r.URL.Path == healthWatch:
		reply(w, dialect, replyNotServing, s.unavailable())
	default:
		s.unavailable().set(header, "")
		w.WriteHeader(http.StatusOK)
	}
}

// trailer is how a call ended.
type trailer struct {
	code             int
	message, details string
}

func (t trailer) set(header http.Header, prefix string) {
	for _, line := range t.lines() {
		header.Set(prefix+line[0], line[1])
	}
}

func (t trailer) lines() [][2]string {
	lines := [][2]string{{"grpc-status", strconv.Itoa(t.code)}}
	if t.message != "" {
		lines = append(lines, [2]string{"grpc-message", t.message})
	}
	if t.details != "" {
		lines = append(lines, [2]string{"grpc-status-details-bin", t.details})
	}
	return lines
}

// reply sends one message and the trailer: as HTTP/2 trailers, or, for gRPC-Web,
// as a last frame of the body.
func reply(w http.ResponseWriter, dialect dialect, message string, end trailer) {
	if dialect == nativeGRPC {
		_, _ = w.Write([]byte(message)) // The client may be gone.
		end.set(w.Header(), http.TrailerPrefix)
		return
	}
	last := &strings.Builder{}
	for _, line := range end.lines() {
		fmt.Fprintf(last, "%s: %s\r\n", line[0], line[1])
	}
	length := last.Len()
	body := message + string([]byte{0x80, byte(length >> 24 & 0xff), byte(length >> 16 & 0xff), byte(length >> 8 & 0xff), byte(length & 0xff)}) + last.String()
	if dialect == webTextGRPC {
		body = base64.StdEncoding.EncodeToString([]byte(body))
	}
	_, _ = w.Write([]byte(body)) // The client may be gone.
}

// unavailable is UNAVAILABLE with a RetryInfo, if the page says when to retry: at
// the date that the team gave, else after a time.
func (s *Site) unavailable() trailer {
	end := trailer{code: codeUnavailable, message: percentEncode(s.sentence())}
	delay := s.retry
	if wait := time.Until(s.content.ETA); wait > 0 && !s.content.WaitsLess {
		delay = wait
	}
	if delay <= 0 {
		return end
	}
	details, err := anypb.New(&errdetails.RetryInfo{RetryDelay: durationpb.New(delay)})
	if err != nil {
		return end
	}
	status := &statuspb.Status{Code: codeUnavailable, Message: strings.ToValidUTF8(s.sentence(), "�"), Details: []*anypb.Any{details}}
	if encoded, err := proto.Marshal(status); err == nil {
		end.details = base64.RawStdEncoding.EncodeToString(encoded)
	}
	return end
}

// percentEncode writes a grpc-message: printable ASCII but for the percent sign
// stays, each other byte becomes %XX.
func percentEncode(text string) string {
	out := &strings.Builder{}
	for i := range len(text) {
		if c := text[i]; c >= ' ' && c <= '~' && c != '%' {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(out, "%%%02X", c)
		}
	}
	return out.String()
}
