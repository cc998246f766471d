// Command redraw draws the pictures of measured figures again, as `make redraw` does:
//
//	go run ./hack/redraw docs/images
//
// Each of them holds the figures that it was drawn from, so that nothing is measured. One that was
// edited by hand comes out different, which is what `make verify` looks at.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/critical-service/operator/test/observability/picture"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: redraw FOLDER")
		os.Exit(2)
	}
	if err := redraw(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "redraw: %v\n", err)
		os.Exit(1)
	}
}

// redraw draws those pictures of a folder again that hold figures.
func redraw(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.svg"))
	if err != nil {
		return err
	}
	var errs []error
	for _, file := range files {
		drawn, err := os.ReadFile(file) //nolint:gosec // A developer names the folder.
		if err == nil && strings.Contains(string(drawn), picture.Figures) {
			err = again(file, string(drawn))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", file, err))
		}
	}
	return errors.Join(errs...)
}

func again(file, drawn string) error {
	measured, err := picture.Read(drawn)
	if err != nil {
		return err
	}
	if drawn, err = measured.SVG(); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(drawn), 0o600) //nolint:gosec // As above.
}
