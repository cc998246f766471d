// Command diagram draws the pictures that explain failover, as `make diagrams` does:
//
//	go run ./hack/diagram -out docs/images
//
// scenes.go says who is there and in which condition. What follows from that, such as who answers,
// is in moment.go, so that no picture shows what a consumer of EndpointSlices would not do.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	out := flag.String("out", "docs/images", "folder of the pictures")
	flag.Parse()
	var errs []error
	for _, p := range pictures {
		drawn, err := p.draw()
		if err == nil {
			err = os.WriteFile(filepath.Join(*out, p.file), []byte(drawn), 0o600)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintf(os.Stderr, "diagram: %v\n", err)
		os.Exit(1)
	}
}

// draw is the picture as an SVG, the same for the same code.
func (p picture) draw() (string, error) {
	draw := drawScene
	if p.scene == nil {
		draw = drawStory
	}
	drawn, err := draw(p)
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.file, err)
	}
	return drawn, nil
}
