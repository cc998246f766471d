// Package document puts what a program measured into a document of people, and reads the code that it has.
package document

import (
	"bytes"
	"fmt"
	"os"
)

// Publish puts a text into a document, between the two lines of a block of some name:
//
//	<!-- NAME: begin -->
//	<!-- NAME: end -->
//
// Without a document it does nothing.
func Publish(document, name, text string) error {
	if document == "" {
		return nil
	}
	content, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	begin, end := fmt.Sprintf("<!-- %s: begin -->\n", name), fmt.Sprintf("<!-- %s: end -->\n", name)
	before, rest, begins := bytes.Cut(content, []byte(begin))
	_, after, ends := bytes.Cut(rest, []byte(end))
	if !begins || !ends {
		return fmt.Errorf("%s has no place for the table: it needs the lines %q and %q", document, begin, end)
	}
	return os.WriteFile(document, fmt.Appendf(nil, "%s%s\n%s\n%s%s", before, begin, text, end, after), 0o644)
}
