package protocol

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// defaultMessage is said if there is none.
	defaultMessage = "The service is not available at the moment."
	// messageLimit, in bytes, is less than what any client cuts off: those of MySQL
	// keep 512.
	messageLimit = 400
)

// sentence makes text fit for every protocol: one line of valid UTF-8, without
// control characters (a NUL ends a string of PostgreSQL, a line break an answer
// of Redis, and an escape may take over a terminal) and of bounded length.
func sentence(text string) string {
	text = text[:min(len(text), 4*messageLimit)]
	text = strings.ToValidUTF8(text, " ")
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > messageLimit {
		const ellipsis = "…"
		end := messageLimit - len(ellipsis)
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = strings.TrimRight(text[:end], " ") + ellipsis
	}
	if text == "" {
		return defaultMessage
	}
	return text
}
