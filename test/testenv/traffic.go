package testenv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Request is one request that the operator sent.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	// UID is, of a deletion, that of the one object which it may delete, if it says so.
	UID types.UID
}

// String is how a failed test names the request.
func (r Request) String() string {
	text := r.Method + " " + r.Path
	if len(r.Query) > 0 {
		text += "?" + r.Query.Encode()
	}
	return text
}

// Writes reports whether the request changes something. A dry run does not, nor does a question about rights or identities.
func (r Request) Writes() bool {
	isQuestion := strings.HasPrefix(r.Path, "/apis/authorization.k8s.io/") || strings.HasPrefix(r.Path, "/apis/authentication.k8s.io/")
	return r.Method != http.MethodGet && !r.Query.Has("dryRun") && !isQuestion
}

// Resource is the resource that the request is about, with its subresource, for
// example "pods" or "criticalservices/status".
func (r Request) Resource() string {
	parts := strings.Split(strings.TrimPrefix(r.Path, "/"), "/")
	skip := 3 // apis/GROUP/VERSION
	if parts[0] == "api" {
		skip = 2
	}
	if len(parts) < skip {
		return ""
	}
	parts = parts[skip:]
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	switch len(parts) {
	case 0:
		return ""
	case 3:
		return parts[0] + "/" + parts[2]
	default:
		return parts[0]
	}
}

// Verdict is what becomes of a request.
type Verdict int

const (
	// Pass lets the request through.
	Pass Verdict = iota
	// Lose fails the request before it reaches the API server.
	Lose
	// LoseAnswer lets the API server do what is asked, and loses its answer.
	LoseAnswer
	// Conflict is answered in the place of the API server: 409.
	Conflict
	// TooMany is answered in its place: 429.
	TooMany
	// Fail is answered in its place: 500.
	Fail
	// TimeOut leaves the request without an answer for a while, and then it is answered in the place of the API server: 504.
	TimeOut
	// TimeOutAnswer is the same, but the API server has done what is asked.
	TimeOutAnswer
	// Hang leaves the request without an answer until its client gives up.
	Hang
)

// timeout is how long a request takes that times out: less than quietFor, or its operator would count as at rest meanwhile. A
// minute would be that of an API server.
const timeout = time.Second

// refusals are the answers that verdicts stand for.
var refusals = map[Verdict]metav1.Status{
	Conflict: {Code: http.StatusConflict, Reason: metav1.StatusReasonConflict},
	TooMany:  {Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests},
	Fail:     {Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError},
	TimeOut:  {Code: http.StatusGatewayTimeout, Reason: metav1.StatusReasonTimeout},
}

// refuse is such an answer to a request.
func refuse(request *http.Request, status metav1.Status) (*http.Response, error) {
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	status.Status, status.Message = metav1.StatusFailure, "testenv: refused"
	body, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	// Without Retry-After, which priority and fairness sets: client-go would send the request again by itself, and no
	// controller would see that it was refused.
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{
		Status: http.StatusText(int(status.Code)), StatusCode: int(status.Code), Proto: request.Proto, ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: request,
	}, nil
}

// errLost stands for a broken connection.
var errLost = errors.New("testenv: the connection broke")

// Traffic records an operator's requests, and may interfere with them.
type Traffic struct {
	interfere func(Request) Verdict
	// history is that of a story to which the operator belongs; nil if to none.
	history *history

	mu       sync.Mutex
	requests []Request
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// NewTraffic is that of an operator in a process of its own, which comes Through it; nil lets all pass.
func NewTraffic(interfere func(Request) Verdict) *Traffic { return &Traffic{interfere: interfere} }

// Through sends what passes on.
func (t *Traffic) Through(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) { return t.send(request, next) })
}

func (t *Traffic) send(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	seen := Request{Method: request.Method, Path: request.URL.Path, Query: request.URL.Query(), UID: preconditionOf(request)}
	t.record(seen)
	verdict := Pass
	if t.interfere != nil {
		verdict = t.interfere(seen)
	}
	status, isRefused := refusals[verdict]
	if (verdict == Lose || verdict == Hang || isRefused) && request.Body != nil {
		_ = request.Body.Close()
	}
	switch {
	case verdict == Lose:
		return nil, errLost
	case verdict == Hang:
		<-request.Context().Done()
		return nil, request.Context().Err()
	case verdict == TimeOut:
		return timeOut(request)
	case isRefused:
		return refuse(request, status)
	}
	asked := request
	if request.Method != http.MethodGet {
		// An operator that stops would break off a write that is under way, and
		// the API server might do half of it: no controller here repairs a Pod that
		// is marked as deleted and is not.
		request = request.WithContext(context.WithoutCancel(request.Context()))
	}
	response, err := next.RoundTrip(request)
	if err != nil || verdict == Pass {
		return response, err
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if verdict == TimeOutAnswer {
		return timeOut(asked)
	}
	return nil, errLost
}

// preconditionOf is the UID that an object must have to be deleted by a request.
func preconditionOf(request *http.Request) types.UID {
	if request.Method != http.MethodDelete || request.GetBody == nil {
		return ""
	}
	body, err := request.GetBody()
	if err != nil {
		return ""
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return ""
	}
	var options metav1.DeleteOptions
	if message, isProtobuf := bytes.CutPrefix(data, []byte("k8s\x00")); isProtobuf {
		var envelope runtime.Unknown
		if err = envelope.Unmarshal(message); err == nil {
			err = options.Unmarshal(envelope.Raw)
		}
	} else {
		err = json.Unmarshal(data, &options)
	}
	if err != nil || options.Preconditions == nil || options.Preconditions.UID == nil {
		return ""
	}
	return *options.Preconditions.UID
}

// timeOut refuses a request after the timeout, unless its client gives up before.
func timeOut(request *http.Request) (*http.Response, error) {
	select {
	case <-time.After(timeout):
		return refuse(request, refusals[TimeOut])
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
}

func (t *Traffic) record(request Request) {
	if t.history != nil {
		t.history.ask(request)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests = append(t.requests, request)
}

// Requests lists what was sent so far, in order, where a condition holds.
func (t *Traffic) Requests(where func(Request) bool) []Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	var chosen []Request
	for _, request := range t.requests {
		if where(request) {
			chosen = append(chosen, request)
		}
	}
	return chosen
}
