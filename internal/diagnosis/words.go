package diagnosis

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/text"
)

const (
	// maxForeign is how many bytes of a text that a program wrote are repeated.
	maxForeign = 200
	// maxQuoted is the same for a text that Kubernetes wrote.
	maxQuoted = 400
	// maxSentence is what a status and an event hold.
	maxSentence = 1024
)

// Texts of programs may hold what nobody should read. These are the usual shapes;
// that texts are short is the other half of the protection.
var (
	userInURL  = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s@"']+@`)
	queryOfURL = regexp.MustCompile(`(https?://[^\s"'?]+)\?[^\s"']+`)
	keyed      = regexp.MustCompile(`(?i)\b([a-z0-9_-]*(?:password|passwd|passphrase|pwd|token|secret|api[-_]?key|access[-_]?key|private[-_]?key|credentials?|authorization))("?\s*[=:]\s*)("[^"]*"?|'[^']*'?|(?:bearer |basic )?[^\s,;"']+)`)
	longRandom = regexp.MustCompile(`\b(?:eyJ[A-Za-z0-9_-]{10,}[A-Za-z0-9_.-]*|[A-Za-z0-9+_]{32,}={0,2})`)
)

// foreign is a text of a program, made safe to be shown: one line, short, without
// what looks like a secret.
func foreign(said string) string { return text.Shorten(discreet(line(said)), maxForeign) }

// quoted is a text of Kubernetes, made fit for a sentence.
func quoted(said string) string { return text.Shorten(discreet(line(said)), maxQuoted) }

func discreet(text string) string {
	text = userInURL.ReplaceAllString(text, "$1…@")
	text = queryOfURL.ReplaceAllString(text, "$1?…")
	text = keyed.ReplaceAllString(text, "$1$2…")
	return longRandom.ReplaceAllStringFunc(text, func(word string) string {
		if strings.ContainsAny(word, "0123456789") {
			return "…"
		}
		return word // A long name of something.
	})
}

// line puts a text on one line, and leaves out what is no character to be read,
// and the end of its last sentence.
func line(text string) string {
	text = strings.ToValidUTF8(text, "")
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsGraphic(r):
			return r
		default:
			return -1
		}
	}, text)
	return strings.TrimRight(strings.Join(strings.Fields(text), " "), ".:; ")
}

// with puts a detail after what it is the detail of; there may be none.
func with(text, detail string) string {
	if detail == "" {
		return text
	}
	return text + ": " + detail
}

// sentence ends a text as a sentence ends.
func sentence(format string, args ...any) string {
	return text.Shorten(fmt.Sprintf(format, args...), maxSentence-1) + "."
}

// ofPrograms is what programs said in a message, behind what the message says
// of them. It may be another text each time, with the time of the day in it.
var ofPrograms = regexp.MustCompile(`(?s)(?:, saying: |\) fails: |\(it is \w+: ).*$`)

// Same tells whether two causes are one: the same reason of the same objects,
// whatever programs said last.
func Same(a, b criticalv2.OutageCause) bool {
	return a.Reason == b.Reason && ofPrograms.ReplaceAllString(a.Message, "") == ofPrograms.ReplaceAllString(b.Message, "")
}
