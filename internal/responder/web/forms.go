package web

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/elnormous/contenttype"
)

const (
	htmlType    = "text/html; charset=utf-8"
	textType    = "text/plain; charset=utf-8"
	jsonType    = "application/json"
	problemType = "application/problem+json"
)

// builtInPolicy lets the built-in page load nothing: whatever is in the message,
// it stays a text.
const builtInPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

// shortestRefresh keeps open pages from becoming a load of their own.
const shortestRefresh = 5 * time.Second

//go:embed builtin.html
var builtInSource string

// form is the page in one media type.
type form struct {
	contentType, policy string
	body                []byte
}

// forms are the page in the media types between which Accept decides.
type forms struct {
	html, json, text form
	isProblem        bool
}

// The offers, the first of which is taken where the client does not mind. They
// differ in what JSON is called.
var (
	offers          = []contenttype.MediaType{mediaType("text/html"), mediaType(problemType), mediaType(jsonType), mediaType("text/plain")}
	offersNoProblem = []contenttype.MediaType{mediaType("text/html"), mediaType(jsonType), mediaType(problemType), mediaType("text/plain")}
)

func mediaType(name string) contenttype.MediaType { return contenttype.NewMediaType(name) }

// accepted is the form for an Accept header. A client that accepts none of them
// gets text, which any can show; one whose header cannot be read is treated as
// if it had none.
func (f *forms) accepted(accept []string) form {
	if len(accept) == 0 {
		return f.html
	}
	offered := offers
	if !f.isProblem {
		offered = offersNoProblem
	}
	chosen, _, err := contenttype.GetAcceptableMediaTypeFromHeader(strings.Join(accept, ","), offered)
	switch {
	case errors.Is(err, contenttype.ErrNoAcceptableTypeFound):
		return f.text
	case err != nil:
		return f.html
	case chosen.Subtype == "plain":
		return f.text
	case chosen.Subtype == "html":
		return f.html
	case chosen.MIME() == jsonType:
		return form{contentType: jsonType, body: f.json.body}
	default:
		return f.json
	}
}

// render makes the forms: the team's own where there is one, else the built-in.
// The ETA is zero if there is none ahead.
func (s *Site) render(eta time.Time) *forms {
	f := &forms{
		html:      form{contentType: htmlType, body: s.content.HTML},
		json:      form{contentType: jsonType, body: s.content.JSON},
		text:      form{contentType: textType, body: s.content.Text},
		isProblem: s.content.IsProblem,
	}
	if f.html.body == nil {
		f.html.body, f.html.policy = s.builtInHTML(eta), builtInPolicy
	}
	if f.json.body == nil {
		f.json.body, f.isProblem = s.builtInProblem(eta), true
	}
	if f.isProblem {
		f.json.contentType = problemType
	}
	if f.text.body == nil {
		f.text.body = s.builtInText(eta)
	}
	return f
}

const (
	defaultHeading = "We’ll be right back"
	defaultMessage = "This service is not available at the moment. It should be back soon."
)

// builtInHTML fills the built-in page. It is filled by a Replacer, and each value
// escaped, since html/template would let the binary grow by 10 MB: it reaches
// methods by reflection, which keeps the linker from leaving any out.
func (s *Site) builtInHTML(eta time.Time) []byte {
	heading := defaultHeading
	if s.status != http.StatusServiceUnavailable {
		heading = s.title()
	}
	var refresh, expected, again string
	if s.retry > 0 {
		wait := max(s.retry, shortestRefresh)
		refresh = fmt.Sprintf("<meta http-equiv=\"refresh\" content=\"%d\">\n", int(wait/time.Second))
		again = fmt.Sprintf("<p class=\"note\">This page tries again by itself in %s.</p>\n", inWords(wait))
	}
	if !eta.IsZero() {
		expected = fmt.Sprintf("<p class=\"eta\"><strong>Expected back</strong> <time datetime=%q>%s</time></p>\n",
			eta.Format(time.RFC3339), etaInWords(eta))
	}
	return []byte(strings.NewReplacer(
		"{{status}}", strconv.Itoa(s.status),
		"{{title}}", html.EscapeString(s.title()),
		"{{heading}}", html.EscapeString(heading),
		"{{message}}", html.EscapeString(s.sentence()),
		"<!--refresh-->\n", refresh,
		"<!--expected-->\n", expected,
		"<!--again-->\n", again,
	).Replace(builtInSource))
}

func (s *Site) builtInProblem(eta time.Time) []byte {
	problem := struct {
		Type              string     `json:"type"`
		Title             string     `json:"title"`
		Status            int        `json:"status"`
		Detail            string     `json:"detail"`
		RetryAfterSeconds int        `json:"retryAfterSeconds,omitempty"`
		ExpectedBack      *time.Time `json:"expectedBack,omitempty"`
	}{
		Type: "about:blank", Title: s.title(), Status: s.status, Detail: s.sentence(),
		RetryAfterSeconds: int(s.retry / time.Second),
	}
	if !eta.IsZero() { // It goes before the time to wait, as in Retry-After.
		problem.ExpectedBack, problem.RetryAfterSeconds = &eta, 0
	}
	body, err := json.Marshal(problem)
	if err != nil { // The year of the ETA does not fit RFC 3339.
		problem.ExpectedBack = nil
		body, _ = json.Marshal(problem)
	}
	return append(body, '\n')
}

func (s *Site) builtInText(eta time.Time) []byte {
	text := &strings.Builder{}
	fmt.Fprintf(text, "%d %s\n\n%s\n", s.status, s.title(), s.sentence())
	if !eta.IsZero() {
		fmt.Fprintf(text, "Expected back: %s\n", etaInWords(eta))
	} else if s.retry > 0 {
		fmt.Fprintf(text, "Please try again in %s.\n", inWords(s.retry))
	}
	return []byte(text.String())
}

func (s *Site) title() string {
	if text := http.StatusText(s.status); text != "" {
		return text
	}
	return "Not Available"
}

// sentence is the message for people; never empty.
func (s *Site) sentence() string {
	if s.message != "" {
		return s.message
	}
	return defaultMessage
}

func etaInWords(eta time.Time) string {
	if _, offset := eta.Zone(); offset == 0 {
		return eta.Format("Monday, 2 January 2006, 15:04 UTC")
	}
	return eta.Format("Monday, 2 January 2006, 15:04 (UTC-07:00)")
}

func inWords(wait time.Duration) string {
	count, unit := int(wait/time.Second), "second"
	switch {
	case wait >= 2*time.Hour:
		count, unit = int(wait.Round(time.Hour)/time.Hour), "hour"
	case wait >= 2*time.Minute:
		count, unit = int(wait.Round(time.Minute)/time.Minute), "minute"
	}
	if count == 1 {
		return "1 " + unit
	}
	return strconv.Itoa(count) + " " + unit + "s"
}
