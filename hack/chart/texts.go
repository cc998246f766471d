package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// texts are pieces of template text. They are no YAML: while an object is one,
// marks stand for them.
type texts struct {
	inlines []string
	blocks  [][]string
}

var (
	inlineMark = regexp.MustCompile(`TEMPLATE-INLINE-(\d+)-`)
	blockMark  = regexp.MustCompile(`^( *)(?:[^ -].*:|-) TEMPLATE-BLOCK-(\d+)-$`)
	// indentation is $ and a number of spaces beyond those of the block.
	indentation = regexp.MustCompile(`\$(\d+)`)
)

// inline is the mark of a value.
func (t *texts) inline(text string) string {
	t.inlines = append(t.inlines, text)
	return fmt.Sprintf("TEMPLATE-INLINE-%d-", len(t.inlines)-1)
}

// block is the mark of lines that replace a field, its key included, or an item of a
// list. In them $2 is the number of spaces before the key, and two more.
func (t *texts) block(lines ...string) string {
	t.blocks = append(t.blocks, lines)
	return fmt.Sprintf("TEMPLATE-BLOCK-%d-", len(t.blocks)-1)
}

// optional is the mark of a field that is there if the value of the chart is not empty.
func (t *texts) optional(key, value string) string {
	return t.block("{{- with "+value+" }}", key+":", "  {{- toYaml . | nindent $2 }}", "{{- end }}")
}

// optionalWord is the same for a value of one word.
func (t *texts) optionalWord(key, value string) string {
	return t.block("{{- with "+value+" }}", key+": {{ . }}", "{{- end }}")
}

// insert puts the texts where their marks are.
func (t *texts) insert(document string) (string, error) {
	var result strings.Builder
	for line := range strings.Lines(document) {
		line = strings.TrimSuffix(line, "\n")
		found := blockMark.FindStringSubmatch(line)
		if found == nil {
			line = inlineMark.ReplaceAllStringFunc(line, func(mark string) string {
				number, _ := strconv.Atoi(inlineMark.FindStringSubmatch(mark)[1])
				return t.inlines[number]
			})
			if strings.Contains(line, "TEMPLATE-BLOCK-") {
				return "", fmt.Errorf("the chart cannot have a parameter here: %s", line)
			}
			result.WriteString(line + "\n")
			continue
		}
		number, _ := strconv.Atoi(found[2])
		for _, text := range t.blocks[number] {
			text = indentation.ReplaceAllStringFunc(text, func(more string) string {
				spaces, _ := strconv.Atoi(more[1:])
				return strconv.Itoa(len(found[1]) + spaces)
			})
			result.WriteString(found[1] + text + "\n")
		}
	}
	return result.String(), nil
}
