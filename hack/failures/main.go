// Command failures prints from JUnit reports why each test failed, as .ci/run does at its end:
//
//	go run ./hack/failures REPORT...
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := showAll(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "failures: %v\n", err)
		os.Exit(1)
	}
}

// showAll prints what it can read: a report that is broken hides no other.
func showAll(w io.Writer, reports []string) error {
	var found []failure
	var errs []error
	for _, report := range reports {
		failures, err := read(report)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", report, err))
		}
		found = append(found, failures...)
	}
	show(w, found)
	return errors.Join(errs...)
}
