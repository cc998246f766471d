package output

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"k8s.io/cli-runtime/pkg/printers"
)

// Column is a column of a table.
type Column struct {
	// Name is its heading, in capitals.
	Name string
	// Wide columns are shown with -o wide only.
	Wide bool
	// Tone colours the cells; nil leaves them as they are.
	Tone func(text string) Tone
}

// tabs aligns columns.
type tabs interface {
	io.Writer
	Flush() error
}

// Table writes rows like those of kubectl. Columns stay as wide as they once were,
// so that rows that are printed later fit below the earlier ones.
type Table struct {
	columns []Column
	wide    bool
	palette Palette
	tabs    tabs
	headed  bool
}

// Table begins a table. Its heading is printed with the first row.
func (f *Flags) Table(out io.Writer, columns ...Column) *Table {
	return NewTable(out, PaletteOf(out), f.Wide(), columns...)
}

// NewTable begins a table with colours or without.
func NewTable(out io.Writer, palette Palette, wide bool, columns ...Column) *Table {
	return &Table{columns: columns, wide: wide, palette: palette, tabs: printers.GetNewTabWriter(out)}
}

// Row adds a row, with one cell for every column, the wide ones included.
func (t *Table) Row(cells ...string) {
	if !t.headed {
		t.headed = true
		names := make([]string, 0, len(t.columns))
		for _, column := range t.columns {
			names = append(names, column.Name)
		}
		t.line(names, true)
	}
	t.line(cells, false)
}

func (t *Table) line(cells []string, heading bool) {
	var shown []string
	for i, column := range t.columns {
		if column.Wide && !t.wide {
			continue
		}
		text := OneLine(cells[i])
		if text == "" {
			text = "-"
		}
		switch {
		case column.Tone == nil:
		case heading:
			text = t.palette.Paint(Neutral, text)
		default:
			text = t.palette.Paint(column.Tone(cells[i]), text)
		}
		shown = append(shown, text)
	}
	fmt.Fprintln(t.tabs, strings.Join(shown, "\t"))
}

// Flush prints the rows that were added.
func (t *Table) Flush() error { return t.tabs.Flush() }

// OneLine is a text as one line without control characters: what is in a status may
// come from any container. Invisible characters are replaced, too: they may reverse
// the order of what is read.
func OneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return '?'
		}
		return r
	}, strings.Join(strings.Fields(text), " "))
}

// Lines is a text of several lines without control characters. Those after the first
// are indented, so that none looks like one of our own.
func Lines(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = OneLine(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n  ")
}
