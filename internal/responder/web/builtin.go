package web

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/lru"

	"github.com/critical-service/operator/internal/responder/web/translation"
)

// builtInPolicy lets the built-in page load and run nothing: whatever is in the message,
// it stays a text.
const builtInPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

// shortestRefresh keeps open pages from becoming a load of their own.
const shortestRefresh = 5 * time.Second

//go:embed builtin.html
var builtInSource string

// place is where the built-in page has a value.
type place int

const (
	language place = iota
	direction
	refresh
	heading
	messageLanguage
	message
	expected
	tryAgain
	reload
	status
)

// placeNames are how the source names the places: {{name}}.
var placeNames = [...]string{"language", "direction", "refresh", "heading", "messageLanguage", "message", "expected", "tryAgain", "reload", "status"}

// piece is a part of the built-in page, up to a place.
type piece struct {
	literal string
	place   place
}

// builtInPieces are cut once; builtInEnd is what follows the last place. html/template
// would let the binary grow by 10 MB: it reaches methods by reflection, which keeps the
// linker from leaving any out.
var builtInPieces, builtInEnd = cut(builtInSource)

func cut(source string) (pieces []piece, end string) {
	for {
		literal, rest, found := strings.Cut(source, "{{")
		if !found {
			return pieces, literal
		}
		name, after, _ := strings.Cut(rest, "}}")
		pieces = append(pieces, piece{literal, place(slices.Index(placeNames[:], name))})
		source = after
	}
}

// farthest keeps sums of durations below their greatest value.
const farthest = 100_000 * 24 * time.Hour

// builtIn is all that a built-in page depends on. Services whose pages are the same share
// one.
type builtIn struct {
	words   *translation.Translation
	status  string
	soon    bool
	message string
	retry   time.Duration
	// eta is zero if there is none ahead; wait is until then, in whole minutes.
	eta  time.Time
	wait time.Duration
}

// builtInPages are the pages that were asked for last, which are some megabytes at most.
// Not each page in each language: strangers choose the language.
var builtInPages = lru.New(256)

func (s *Site) builtInHTML(words *translation.Translation, now time.Time) []byte {
	b := builtIn{words: words, status: s.statusLine(), soon: s.status == http.StatusServiceUnavailable, message: s.message, retry: s.retry}
	if eta, ahead := s.eta(now); ahead {
		b.eta, b.wait = eta, (min(eta.Sub(now), farthest) + time.Minute - 1).Truncate(time.Minute)
	}
	if known, found := builtInPages.Get(b); found {
		return known.([]byte)
	}
	page := b.html()
	builtInPages.Add(b, page)
	return page
}

// html fills the built-in page. It says times in words from the moment of the request on,
// so that no reader has to know a time zone, and no script is needed: the page loads
// itself again before they are far off. The texts of a translation need no escaping, and
// what a team wrote is escaped.
func (b *builtIn) html() []byte {
	values := [len(placeNames)]string{
		language: b.words.Language, direction: b.words.Direction,
		heading: b.words.Unavailable, message: b.words.Message, tryAgain: b.words.TryAgain, status: b.status,
	}
	if b.soon {
		values[heading] = b.words.Soon
	}
	if b.message != "" {
		// Its language is not known, and not that of the page.
		values[message], values[messageLanguage] = html.EscapeString(b.message), ` lang=""`
	}
	if b.retry > 0 {
		wait := max(b.retry, shortestRefresh)
		values[refresh] = fmt.Sprintf("\n<meta http-equiv=\"refresh\" content=\"%d\">", int(wait/time.Second))
		values[reload] = "\n<p class=\"note\">" + b.words.Reload(b.words.In(wait)) + "</p>"
	}
	if !b.eta.IsZero() {
		values[expected] = "\n<p class=\"eta\">" + b.words.Expected(fmt.Sprintf("<time datetime=%q>%s</time>",
			b.eta.Format(time.RFC3339), b.words.InAbout(b.wait))) + "</p>"
	}
	var filled []byte
	for _, piece := range builtInPieces {
		filled = append(append(filled, piece.literal...), values[piece.place]...)
	}
	return append(filled, builtInEnd...)
}

func (s *Site) builtInText(words *translation.Translation, now time.Time) []byte {
	text := &strings.Builder{}
	sentence := words.Message
	if s.message != "" {
		sentence = s.message
	}
	fmt.Fprintf(text, "%s\n\n%s\n", s.statusLine(), sentence)
	if eta, ahead := s.eta(now); ahead {
		fmt.Fprintln(text, words.Expected(words.InAbout(eta.Sub(now))))
	} else if s.retry > 0 {
		fmt.Fprintln(text, words.Retry(words.In(s.retry)))
	}
	return []byte(text.String())
}

// builtInProblem is for programs, and the same in all languages.
func (s *Site) builtInProblem(now time.Time) []byte {
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
	if eta, ahead := s.eta(now); ahead { // It goes before the time to wait, as in Retry-After.
		problem.ExpectedBack, problem.RetryAfterSeconds = &eta, 0
	}
	body, err := json.Marshal(problem)
	if err != nil { // The year of the ETA does not fit RFC 3339.
		problem.ExpectedBack = nil
		body, _ = json.Marshal(problem)
	}
	return append(body, '\n')
}

// statusLine is the status as HTTP says it.
func (s *Site) statusLine() string { return strconv.Itoa(s.status) + " " + s.title() }

func (s *Site) title() string {
	if text := http.StatusText(s.status); text != "" {
		return text
	}
	return "Not Available"
}

// sentence is the message for people who read it in the answer to a program; never empty.
func (s *Site) sentence() string {
	if s.message != "" {
		return s.message
	}
	return translation.For("").Message
}
