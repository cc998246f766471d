// Command mutants seeds bugs into both operators, one after the other, and shows by which test each is caught:
//
//	go run ./test/mutants [NAME...]
//
// A bug is a patch of this folder, or of workloads/test/mutants, whose first line says what goes wrong. It fails if one
// survives: then a test is missing. `make mutants` gives it the API server that some of the tests need.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// project is an operator with its bugs.
type project struct {
	// root is the folder of its module, and patches that of its bugs.
	root, patches string
	// suite are the packages whose tests run: those of a list run if no test of the lists before fails, which take less
	// time.
	suite [][]string
}

var projects = []project{
	{".", "test/mutants", [][]string{
		{"./internal/protection", "./controllers/criticalservice/internal/decide"},
		{"./internal/protection/...", "./controllers/criticalservice/internal/..."},
		{"./controllers/..."},
	}},
	{"workloads", "workloads/test/mutants", [][]string{
		{
			"./controllers/appconfig/internal/decide", "./controllers/database/internal/decide", "./controllers/etcdinstance/internal/decide",
			"./controllers/ingress/internal/decide", "./controllers/webapp/internal/decide",
		},
		{"./controllers/..."},
	}},
}

func main() {
	if err := hunts(context.Background(), os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "mutants: %v\n", err)
		os.Exit(1)
	}
}

// hunts seeds the bugs of these names, or all.
func hunts(ctx context.Context, w io.Writer, names []string) error {
	var errs []error
	known := 0
	for _, p := range projects {
		mutants, err := load(p.patches, names)
		if err != nil {
			return err
		}
		if known += len(mutants); len(mutants) > 0 {
			errs = append(errs, hunt(ctx, w, p.root, p.suite, mutants))
		}
	}
	if known == 0 {
		return fmt.Errorf("there is no patch of %q", names)
	}
	return errors.Join(errs...)
}

// hunt seeds each bug into the module at a root, and prints what catches it.
func hunt(ctx context.Context, w io.Writer, root string, suite [][]string, mutants []mutant) error {
	found := 0
	var errs []error
	for _, m := range mutants {
		begun := time.Now()
		by, doubts, err := m.caughtBy(ctx, root, suite)
		took := time.Since(begun).Round(time.Second)
		for _, doubt := range doubts {
			fmt.Fprintf(w, "%-28s left out: %v\n", m.name, doubt)
		}
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

// caughtBy is the test that fails with the bug, and passes without it; and what those are that were left out.
func (m mutant) caughtBy(ctx context.Context, root string, suite [][]string) (by caught, doubts []error, err error) {
	folder, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return caught{}, nil, err
	}
	defer os.RemoveAll(folder)
	overlay, err := m.seed(ctx, root, folder)
	if err != nil {
		return caught{}, nil, err
	}
	for _, patterns := range suite {
		by, unproven, err := firstProven(ctx, root, overlay, patterns)
		doubts = append(doubts, unproven...)
		if err != nil || by.test != "" {
			return by, doubts, err
		}
	}
	return caught{}, doubts, nil
}

// firstProven is the first test that fails because of the bug, and what it says of those that failed before. One that fails now
// and then, as on a machine that is slow, has caught nothing; it is left out of its package.
func firstProven(ctx context.Context, root, overlay string, patterns []string) (by caught, unproven []error, err error) {
	packages, err := list(ctx, root, patterns)
	if err != nil {
		return caught{}, nil, err
	}
	leftOut := map[string][]string{}
	for {
		by, err := firstFailing(ctx, root, overlay, packages, leftOut)
		if err != nil || by.test == "" {
			return caught{}, unproven, err
		}
		doubt, err := by.doubt(ctx, root, overlay)
		if err != nil || doubt == nil {
			return by, unproven, err
		}
		leftOut[by.pkg], unproven = append(leftOut[by.pkg], by.test), append(unproven, doubt)
	}
}

// firstFailing is the first test of packages that fails, but for those that are left out.
func firstFailing(ctx context.Context, root, overlay string, packages []string, leftOut map[string][]string) (caught, error) {
	var whole []string
	var runs [][]string
	for _, pkg := range packages {
		if names := leftOut[pkg]; names != nil {
			runs = append(runs, []string{"-skip", "^(" + strings.Join(names, "|") + ")$", pkg})
		} else {
			whole = append(whole, pkg)
		}
	}
	if len(whole) > 0 {
		runs = append([][]string{whole}, runs...)
	}
	for _, arguments := range runs {
		if by, err := test(ctx, root, append([]string{"-overlay", overlay}, arguments...)...); err != nil || by.test != "" {
			return by, err
		}
	}
	return caught{}, nil
}

// doubt is nil if the test, run alone, fails with the bug again and passes without it.
func (by caught) doubt(ctx context.Context, root, overlay string) (doubt, err error) {
	alone := []string{"-count=1", "-run", "^" + by.test + "$", by.pkg}
	innocent, err := test(ctx, root, alone...)
	if err != nil {
		return nil, err
	}
	if innocent.test != "" {
		return fmt.Errorf("%s in %s fails without it as well", by.test, by.pkg), nil
	}
	again, err := test(ctx, root, append([]string{"-overlay", overlay}, alone...)...)
	if err != nil || again.test != "" {
		return nil, err
	}
	return fmt.Errorf("%s in %s failed, and passes when it runs again", by.test, by.pkg), nil
}
