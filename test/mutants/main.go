// Command mutants seeds bugs into the operator, one after the other, and shows by which test each is caught:
//
//	go run ./test/mutants [NAME...]
//
// A bug is a patch of this folder, whose first line says what goes wrong. It fails if one survives: then a test is
// missing. `make mutants` gives it the API server that some of the tests need.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// suite are the packages whose tests run: those of a list run if no test of the lists before fails, which take less time.
var suite = [][]string{
	{"./internal/protection", "./controllers/criticalservice/internal/decide"},
	{"./internal/protection/...", "./controllers/criticalservice/internal/..."},
	{"./controllers/criticalservice/protect/...", "./controllers/criticalservice/provision/...", "./controllers/criticalservice/stories/..."},
}

func main() {
	mutants, err := load("test/mutants", os.Args[1:])
	if err == nil {
		err = hunt(context.Background(), os.Stdout, ".", suite, mutants)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "mutants: %v\n", err)
		os.Exit(1)
	}
}

// hunt seeds each bug into the module at a root, and prints what catches it.
func hunt(ctx context.Context, w io.Writer, root string, suite [][]string, mutants []mutant) error {
	found := 0
	var errs []error
	for _, m := range mutants {
		begun := time.Now()
		by, err := m.caughtBy(ctx, root, suite)
		took := time.Since(begun).Round(time.Second)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", m.name, err))
		case by.test == "":
			errs = append(errs, fmt.Errorf("%s survives: no test fails although: %s", m.name, m.sentence))
		default:
			found++
			fmt.Fprintf(w, "%-28s caught by %s in %s after %s\n", m.name, by.test, by.pkg, took)
		}
	}
	fmt.Fprintf(w, "%d of %d bugs caught\n", found, len(mutants))
	return errors.Join(errs...)
}

// caughtBy is the test that fails with the bug, and passes without it.
func (m mutant) caughtBy(ctx context.Context, root string, suite [][]string) (caught, error) {
	folder, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return caught{}, err
	}
	defer os.RemoveAll(folder)
	overlay, err := m.seed(ctx, root, folder)
	if err != nil {
		return caught{}, err
	}
	for _, packages := range suite {
		by, err := test(ctx, root, append([]string{"-overlay", overlay}, packages...)...)
		if err != nil {
			return caught{}, err
		}
		if by.test == "" {
			continue
		}
		innocent, err := test(ctx, root, "-run", "^"+by.test+"$", by.pkg)
		if err == nil && innocent.test != "" {
			err = fmt.Errorf("%s in %s fails without it as well", by.test, by.pkg)
		}
		return by, err
	}
	return caught{}, nil
}
