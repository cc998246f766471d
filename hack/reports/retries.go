package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// expiry is how long a test may be retried: then it is fixed, or its failures count.
const expiry = 30 * 24 * time.Hour

// entry is a test that may be retried.
type entry struct {
	pkg, test, why string
	since          time.Time
}

// issue is where the failure of a test is followed up.
var issue = regexp.MustCompile(`^issue \d+\b`)

// parse reads a list of entries, one in a line: package, test, since when, issue and why. Lines with # are comments.
func parse(list string) ([]entry, error) {
	var entries []entry
	number := 0
	for line := range strings.Lines(list) {
		number++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 4 {
			return nil, fmt.Errorf("line %d: %q is not PACKAGE TEST YYYY-MM-DD issue NUMBER", number, line)
		}
		since, err := time.Parse(time.DateOnly, fields[2])
		if err != nil {
			return nil, fmt.Errorf("line %d: since when? %w", number, err)
		}
		why := strings.Join(fields[3:], " ")
		if !issue.MatchString(why) {
			return nil, fmt.Errorf("line %d: %q names no issue: issue NUMBER", number, line)
		}
		entries = append(entries, entry{pkg: fields[0], test: fields[1], since: since, why: why})
	}
	return entries, nil
}

// isExpired reports whether an entry is too old at a time, or not of it yet.
func (e entry) isExpired(now time.Time) bool { return now.Before(e.since) || now.Sub(e.since) > expiry }

// crashed is what ends the tests that come after as well: to run one of them again would hide the others.
var crashed = regexp.MustCompile(`(?m)^(panic: |fatal error: |WARNING: DATA RACE)`)

// retry prints the packages and the pattern of the tests to run once more, in one line each. None is whose entry has expired.
func retry(w io.Writer, list, report string, now time.Time) error {
	data, err := os.ReadFile(list) //nolint:gosec // A script names the file.
	if err != nil {
		return err
	}
	entries, err := parse(string(data))
	if err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	failures, err := read(report)
	if err != nil {
		return fmt.Errorf("%s: %w", report, err)
	}
	if len(failures) == 0 {
		return errors.New("no test failed, so that none can be retried")
	}
	var packages, tests []string
	for _, f := range failures {
		if !slices.ContainsFunc(entries, func(e entry) bool { return e.pkg == f.pkg && e.test == f.root() && !e.isExpired(now) }) {
			return fmt.Errorf("not retried: %s %s is not in %s, or for longer than 30 days", f.pkg, f.root(), list)
		}
		if crashed.MatchString(strings.Join(f.log, "\n")) {
			return fmt.Errorf("not retried: %s %s crashed", f.pkg, f.root())
		}
		packages, tests = append(packages, f.pkg), append(tests, f.root())
	}
	unique := func(names []string) []string {
		slices.Sort(names)
		return slices.Compact(names)
	}
	_, err = fmt.Fprintf(w, "%s\n^(%s)$\n", strings.Join(unique(packages), " "), strings.Join(unique(tests), "|"))
	return err
}
