// Command terminal draws what the kubectl plugin prints, as `make pictures` does:
//
//	go run ./hack/terminal -out docs/images/plugin.svg
//
// The texts are golden files of the plugin's own tests, with their colours.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// plugin is where the commands have their golden files.
const plugin = "cmd/kubectl-critsvc/internal"

// session is what is typed, the file with what is printed then, and the line before which the
// picture ends with an ellipsis; without one it shows all.
var session = []struct{ command, printed, until string }{
	{"kubectl critsvc status -n shop", "status/testdata/picture.golden.txt", ""},
	{"kubectl critsvc explain svc/web -n shop", "explain/testdata/picture.golden.txt", "Ports:"},
}

func main() {
	out := flag.String("out", "docs/images/plugin.svg", "file to write")
	flag.Parse()
	picture, err := render(os.DirFS("."))
	if err == nil {
		err = os.WriteFile(*out, []byte(picture), 0o600)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "terminal: %v\n", err)
		os.Exit(1)
	}
}

// render is the picture of the session, from the files of a checkout.
func render(checkout fs.FS) (string, error) {
	var lines []line
	for _, step := range session {
		printed, err := fs.ReadFile(checkout, path.Join(plugin, step.printed))
		if err != nil {
			return "", fmt.Errorf("%w (go test ./%s/... -update writes it)", err, plugin)
		}
		text, err := begin(string(printed), step.until)
		if err != nil {
			return "", fmt.Errorf("%s: %w", step.printed, err)
		}
		if len(lines) > 0 {
			lines = append(lines, nil)
		}
		lines = append(lines, line{{column: 0, text: "$", class: "muted"}, {column: 2, text: step.command, class: "typed"}})
		lines = append(lines, text...)
	}
	return draw("What kubectl critsvc prints in an outage",
		"Of three Services one is down and nothing answers, one is down and the page answers, and one is well. "+
			"The explanation of the second begins with its state, its cause, and what answers now.", lines), nil
}

// begin is a text with its colours, until a line.
func begin(printed, until string) ([]line, error) {
	if until == "" {
		return parse(printed)
	}
	shown, _, found := strings.Cut(printed, "\n"+until+"\n")
	if !found {
		return nil, fmt.Errorf("there is no line %q to end before", until)
	}
	text, err := parse(strings.TrimRight(shown, "\n"))
	return append(text, line{{column: 0, text: "…", class: "muted"}}), err
}
