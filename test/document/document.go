// Package document puts what a program measured into a document of people.
package document

import (
	"bytes"
	"fmt"
	"os"
)

// What was measured stands in a document between these two lines.
const (
	beginMark = "<!-- bench: begin -->\n"
	endMark   = "<!-- bench: end -->\n"
)

// Publish puts a text between the marks of a document. Without a document it does nothing.
func Publish(document, text string) error {
	if document == "" {
		return nil
	}
	content, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	before, rest, begins := bytes.Cut(content, []byte(beginMark))
	_, after, ends := bytes.Cut(rest, []byte(endMark))
	if !begins || !ends {
		return fmt.Errorf("%s has no place for the table: it needs the lines %q and %q", document, beginMark, endMark)
	}
	return os.WriteFile(document, fmt.Appendf(nil, "%s%s\n%s\n%s%s", before, beginMark, text, endMark, after), 0o644)
}
