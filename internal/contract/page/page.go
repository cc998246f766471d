// Package page reads a team's own content of a page from the keys of a
// ConfigMap. The responder serves it; the operator says in status what is wrong
// with it. The package is pure: bytes in, content and problems out.
//
//	index.html   the page, for clients that accept HTML
//	503.json     the same for programs: a problem (RFC 9457) or any other JSON
//	503.txt      the same as text
//	headers      lines "Name: value", added to every HTTP answer
//	eta          when the Service is expected back (RFC 3339)
//	logo.svg     any other key is a file, served as /logo.svg; "__" in a key
//	             stands for "/", so that css__site.css is /css/site.css
//
// The keys are the same whatever the status code of the page is.
//
// An invalid key does not affect the others: the built-in answer replaces that
// part, and a Problem says why.
package page

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The keys with a meaning of their own.
const (
	KeyHTML    = "index.html"
	KeyJSON    = "503.json"
	KeyText    = "503.txt"
	KeyHeaders = "headers"
	KeyETA     = "eta"
)

// MaxBytes bounds all keys and values together, as a ConfigMap does.
const MaxBytes = 1 << 20

// Content is what a team gave. A part that is nil or empty is the built-in one.
type Content struct {
	// HTML, JSON and Text are the page in its three forms.
	HTML, JSON, Text []byte
	// IsProblem reports that JSON is a problem (RFC 9457).
	IsProblem bool
	// Headers are added to every HTTP answer, in their order.
	Headers []Header
	// ETA is when the Service is expected back, or zero. Clients are asked to wait until
	// then, unless WaitsLess says that the seconds of the page come first.
	ETA       time.Time
	WaitsLess bool
	// Files are the other keys, by the path of the request.
	Files map[string]File
}

// Header is one header line.
type Header struct{ Name, Value string }

// File is one file that is served as it is.
type File struct {
	ContentType string
	Body        []byte
}

// maxProblems is how many problems are reported. Content can have hundreds of
// thousands, and people fix one after the other.
const maxProblems = 16

// Problem is why a key is not used.
type Problem struct {
	// Key of the ConfigMap.
	Key string
	// Message says what is wrong, and what is right.
	Message string
}

// String is the problem as a sentence for people.
func (p Problem) String() string { return fmt.Sprintf("key %q: %s", p.Key, p.Message) }

// Parse reads the keys of a ConfigMap. The content is never nil; the problems
// are sorted by key, and no more than maxProblems. Values are not copied.
func Parse(files map[string][]byte) (*Content, []Problem) {
	r := &reader{content: &Content{}}
	for _, key := range byImportance(files) {
		value := files[key]
		if r.size += len(key) + len(value); r.size > MaxBytes {
			r.size -= len(key) + len(value)
			r.problem(key, "with it the content is larger than the %d bytes that are allowed together; make the files smaller", MaxBytes)
			continue
		}
		r.read(key, value)
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return cmp.Compare(a.Key, b.Key) })
	return r.content, r.problems
}

// byImportance sorts the keys so that the pages come first: what does not fit
// are files.
func byImportance(files map[string][]byte) []string {
	special := []string{KeyETA, KeyHeaders, KeyHTML, KeyJSON, KeyText}
	return slices.SortedFunc(maps.Keys(files), func(a, b string) int {
		if aFirst, bFirst := slices.Contains(special, a), slices.Contains(special, b); aFirst != bFirst {
			if aFirst {
				return -1
			}
			return 1
		}
		return cmp.Compare(a, b)
	})
}

// reader collects what Parse finds.
type reader struct {
	content  *Content
	problems []Problem
	size     int
}

func (r *reader) problem(key, format string, args ...any) {
	if len(r.problems) == maxProblems {
		return
	}
	r.problems = append(r.problems, Problem{Key: key, Message: fmt.Sprintf(format, args...)})
}

func (r *reader) read(key string, value []byte) {
	switch key {
	case KeyHTML:
		r.content.HTML = r.text(key, value)
	case KeyText:
		r.content.Text = r.text(key, value)
	case KeyJSON:
		r.json(value)
	case KeyHeaders:
		r.headers(value)
	case KeyETA:
		r.eta(value)
	default:
		r.file(key, value)
	}
}

// text is a text that can be shown, or nil.
func (r *reader) text(key string, value []byte) []byte {
	switch {
	case len(bytes.TrimSpace(value)) == 0:
		r.problem(key, "it is empty; the built-in page is shown")
	case !utf8.Valid(value):
		r.problem(key, "it is not UTF-8; the built-in page is shown")
	default:
		return value
	}
	return nil
}

func (r *reader) json(value []byte) {
	if !json.Valid(value) {
		r.problem(KeyJSON, "it is not valid JSON; the built-in answer is sent")
		return
	}
	if value = r.text(KeyJSON, value); value == nil {
		return
	}
	r.content.JSON = value
	r.content.IsProblem = isProblem(value)
}

// isProblem reports whether valid JSON is an object with a member of a problem
// (RFC 9457). It takes no memory: there can be very many members.
func isProblem(value []byte) bool {
	value = bytes.TrimSpace(value)
	if value[0] != '{' {
		return false // Any JSON will do, but only an object can be a problem.
	}
	depth, isName := 0, false
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '{', '[':
			depth++
			isName = depth == 1
		case '}', ']':
			depth--
		case ',':
			isName = depth == 1
		case '"':
			end := endOfString(value, i)
			if isName && problemMembers[string(value[i:end])] {
				return true
			}
			i, isName = end-1, false
		}
	}
	return false
}

// problemMembers are the members of a problem, as JSON.
var problemMembers = map[string]bool{`"type"`: true, `"title"`: true, `"status"`: true, `"detail"`: true, `"instance"`: true}

// endOfString is where a string of valid JSON ends that begins at a place.
func endOfString(value []byte, begin int) int {
	end := begin + 1
	for ; value[end] != '"'; end++ {
		if value[end] == '\\' {
			end++
		}
	}
	return end + 1
}

func (r *reader) eta(value []byte) {
	text := strings.TrimSpace(string(value))
	eta, err := time.Parse(time.RFC3339, text)
	if err != nil || eta.IsZero() {
		r.problem(KeyETA, "%.40q is not a date with time and zone (RFC 3339), such as 2030-01-31T18:30:00+01:00; it is skipped", text)
		return
	}
	r.content.ETA = eta
}
