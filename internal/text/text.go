// Package text keeps text within bounds. It is pure.
package text

import (
	"strings"
	"unicode/utf8"
)

const ellipsis = "…"

// Shorten cuts a text to a number of bytes, between two characters, and marks that
// something is missing. The bounds of the API count characters or bytes; what is
// within the bytes is within both.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := max(limit-len(ellipsis), 0)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.TrimRight(text[:end], ".:;, ") + ellipsis
}
