// Command reports reads the JUnit reports of tests, as .ci/run, hack/gotest.sh and hack/versions.sh do:
//
//	go run ./hack/reports show REPORT...
//	go run ./hack/reports retry LIST REPORT
//	go run ./hack/reports matrix DOCUMENT KUBERNETES FOLDER
//
// The first prints why each test failed. The second prints the packages and the names, as `go test -run` takes them, of
// tests to run once more; it refuses unless each test that failed is in the list (see retries.go). The third writes what
// came of the reports in a folder into the table of a document (see matrix.go).
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "reports: %v\n", err)
		os.Exit(1)
	}
}

func run(w io.Writer, arguments []string) error {
	if len(arguments) >= 1 && arguments[0] == "show" {
		return showAll(w, arguments[1:])
	}
	if len(arguments) == 3 && arguments[0] == "retry" {
		return retry(w, arguments[1], arguments[2], time.Now())
	}
	if len(arguments) == 4 && arguments[0] == "matrix" {
		return matrix(arguments[1], arguments[2], arguments[3], time.Now())
	}
	return errors.New("usage: reports show REPORT... | reports retry LIST REPORT | reports matrix DOCUMENT KUBERNETES FOLDER")
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
