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
)

// plugin is where the commands have their golden files.
const plugin = "cmd/kubectl-critsvc/internal"

// session is what is typed, and the file with what is printed then.
var session = []struct{ command, printed string }{
	{"kubectl critsvc status -n shop", "status/testdata/picture.golden.txt"},
	{"kubectl critsvc explain svc/web -n shop", "explain/testdata/picture.golden.txt"},
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
		text, err := parse(string(printed))
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
			"The explanation of the second names its state, its cause, and what answers now.", lines), nil
}
