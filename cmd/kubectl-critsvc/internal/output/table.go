package output

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/critical-service/operator/internal/text/terminal"
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
		text := terminal.OneLine(cells[i])
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
