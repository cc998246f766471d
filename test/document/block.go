package document

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// code is a block of code. In a list it is indented.
var code = regexp.MustCompile("(?s)\n( *)```([a-z]+)\n(.*?\n) *```\n")

// Block is the one block of code in a language that has these words, in a section of a document: what
// follows a heading of the second level. It is without the indentation of a list.
func Block(document, section, language, words string) (string, error) {
	content, err := os.ReadFile(document)
	if err != nil {
		return "", err
	}
	var found []string
	for text := range strings.SplitSeq(string(content), "\n## ") {
		if title, _, _ := strings.Cut(text, "\n"); title != section {
			continue
		}
		for _, block := range code.FindAllStringSubmatch(text, -1) {
			if block[2] == language && strings.Contains(block[3], words) {
				found = append(found, strings.ReplaceAll("\n"+block[3], "\n"+block[1], "\n")[1:])
			}
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("section %q of %s has %d blocks of %s with %q, and should have one", section, document, len(found), language, words)
	}
	return found[0], nil
}
