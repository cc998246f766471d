package protocol

import (
	"strings"
	"unicode"

	"github.com/critical-service/operator/internal/text"
)

const (
	// defaultMessage is said if there is none.
	defaultMessage = "The service is not available at the moment."
	// messageLimit, in bytes, is less than what any client cuts off: those of MySQL
	// keep 512.
	messageLimit = 400
)

// sentence makes a message fit for every protocol: one line of valid UTF-8, without
// control characters (a NUL ends a string of PostgreSQL, a line break an answer
// of Redis, and an escape may take over a terminal) and of bounded length.
func sentence(message string) string {
	message = message[:min(len(message), 4*messageLimit)]
	message = strings.ToValidUTF8(message, " ")
	message = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, message)
	message = text.Shorten(strings.Join(strings.Fields(message), " "), messageLimit)
	if message == "" {
		return defaultMessage
	}
	return message
}
