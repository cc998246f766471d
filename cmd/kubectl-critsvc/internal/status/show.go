package status

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
	"github.com/critical-service/operator/internal/text/terminal"
)

// rows prints a Service whenever it has changed, as `kubectl get --watch` does. A
// document is printed whole.
func (o *options) rows() func(*View, string) error {
	table := o.format.Table(o.to.Out, columns(o.allNamespaces)...)
	shown := map[string]string{}
	document, warned := "", ""
	return func(view *View, notice string) error {
		if notice != "" && notice != warned {
			fmt.Fprintln(o.to.ErrOut, "warning: "+terminal.OneLine(notice))
		}
		warned = notice
		if o.format.Structured() {
			return o.document(view, &document)
		}
		changed := changes(view, shown)
		if o.format.Format() == output.Name {
			return printNames(o.to.Out, &changed)
		}
		return printTable(table, &changed, o.allNamespaces, time.Now())
	}
}

// changes are the Services that are not shown as they are, and those that are shown
// and gone. They count as shown from now on.
func changes(view *View, shown map[string]string) View {
	var changed View
	current := map[string]bool{}
	for i := range view.Services {
		service := &view.Services[i]
		key := service.Namespace + "/" + service.Name
		current[key] = true
		// What changes with time alone is no change.
		text := strings.Join(row(service, true, service.Since.Time), "\t") + service.Since.String()
		if shown[key] != text {
			changed.Services = append(changed.Services, *service)
			shown[key] = text
		}
	}
	for key := range shown {
		if !current[key] {
			namespace, name, _ := strings.Cut(key, "/")
			changed.Services = append(changed.Services, Service{Namespace: namespace, Name: name, Message: "No CriticalService or ServiceFallback lists it any more."})
			delete(shown, key)
		}
	}
	return changed
}

// document prints the whole list, if it is another than before.
func (o *options) document(view *View, before *string) error {
	var text strings.Builder
	if err := o.format.Document(&text, view); err != nil {
		return err
	}
	if text.String() == *before {
		return nil
	}
	if *before != "" && o.format.Format() == output.YAML {
		fmt.Fprintln(o.to.Out, "---")
	}
	*before = text.String()
	_, err := io.WriteString(o.to.Out, *before)
	return err
}

// screen shows the list in place: it writes over what it wrote before.
func (o *options) screen() func(*View, string) error {
	lines := 0
	return func(view *View, notice string) error {
		palette := output.PaletteOf(o.to.Out)
		if notice != "" {
			view.Notices = append(view.Notices, notice)
		}
		width, height := sizeOf(o.to.Out)
		text, err := frame(view, o.format.Wide(), o.allNamespaces, palette, time.Now(), width, height)
		if err != nil {
			return err
		}
		var up string
		if lines > 0 {
			up = fmt.Sprintf("\x1b[%dA\r", lines)
		}
		lines = len(text)
		// Each line is cleared behind its end, and the screen below the last.
		_, err = io.WriteString(o.to.Out, up+strings.Join(text, "\x1b[K\n")+"\x1b[K\n\x1b[J")
		return err
	}
}

// sizeOf is the size of a terminal; 80 by 24 if it is not known.
func sizeOf(out io.Writer) (width, height int) {
	if file, ok := out.(*os.File); ok {
		if width, height, err := term.GetSize(int(file.Fd())); err == nil && width > 0 && height > 0 {
			return width, height
		}
	}
	return 80, 24
}

// frame is the list as the lines of a terminal: none is broken, and all fit. The
// sentences are never left out for rows.
func frame(view *View, wide, allNamespaces bool, palette output.Palette, now time.Time, width, height int) ([]string, error) {
	var table, text bytes.Buffer
	if err := printTable(output.NewTable(&table, palette, wide, columns(allNamespaces)...), view, allNamespaces, now); err != nil {
		return nil, err
	}
	printSentences(&text, view, palette)
	rows, texts := lines(table.String()), lines(text.String())
	if len(view.Services) == 0 {
		rows = []string{"No Service is protected here."}
	}
	if room := max(height-1-len(texts), 2); len(rows) > room {
		hidden := len(rows) - room + 1
		rows = append(rows[:room-1], fmt.Sprintf("... and %d more: make the terminal higher", hidden))
	}
	all := slices.Concat(rows, texts)
	all = all[:min(len(all), height-1)]
	for i := range all {
		all[i] = clipped(all[i], width)
	}
	return all, nil
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// clipped is a line that a terminal does not break. What is cut off is replaced by an
// ellipsis. Escape sequences take no room.
func clipped(line string, width int) string {
	if columnsOf(line) <= width {
		return line
	}
	var kept strings.Builder
	column, inEscape, colored := 0, false, false
	for _, r := range line {
		switch {
		case inEscape:
			inEscape = r != 'm'
		case r == '\x1b':
			inEscape, colored = true, true
		case column >= width-1:
			if column == width-1 {
				kept.WriteRune('…')
			}
			column = width
			continue
		default:
			column++
		}
		kept.WriteRune(r)
	}
	if colored {
		kept.WriteString("\x1b[0m")
	}
	return kept.String()
}

// columnsOf is how many columns of a terminal a line takes.
func columnsOf(line string) int {
	count, inEscape := 0, false
	for _, r := range line {
		switch {
		case inEscape:
			inEscape = r != 'm'
		case r == '\x1b':
			inEscape = true
		default:
			count++
		}
	}
	return count
}
