package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

const (
	// How many lines all tests have, and one of them at most and at least.
	allLines, mostLines, leastLines = 200, 60, 10
	// How long a line is at most: logs in JSON have objects in one.
	width = 300
	// How many lines from the reason on are put into one at the end, and for how many tests.
	reasonLines, mostReasons = 6, 10
)

var (
	// reasons begin with one of these: a crash, and what Gomega prints.
	reasons = regexp.MustCompile(`^(panic: |fatal error: |WARNING: DATA RACE| +[^ ]+\.go:\d+: $)`)
	// What t.Fatal prints looks like what t.Log does.
	said = regexp.MustCompile(`^ +[^ ]+\.go:\d+: `)
)

// reason is the line where a log says why the test failed.
func reason(log []string) int {
	if at := slices.IndexFunc(log, reasons.MatchString); at >= 0 {
		return at
	}
	for at, line := range slices.Backward(log) {
		if said.MatchString(line) {
			return at
		}
	}
	return 0
}

// excerpt is the reason in a log and its last lines, with a line for what is left out.
func excerpt(log []string, most int) []string {
	if len(log) <= most {
		return log
	}
	tail := len(log) - most/2
	start := min(reason(log), len(log)-most)
	head := start + most - most/2
	var kept []string
	omit := func(count int) {
		if count > 0 {
			kept = append(kept, fmt.Sprintf("... %d lines ...", count))
		}
	}
	omit(start)
	kept = append(kept, log[start:head]...)
	omit(tail - head)
	return append(kept, log[tail:]...)
}

// inOneLine is the reason in a log.
func inOneLine(log []string) string {
	at := reason(log)
	words := strings.Fields(strings.Join(log[at:min(at+reasonLines, len(log))], " "))
	return cut(strings.Join(words, " "))
}

func cut(line string) string {
	if runes := []rune(line); len(runes) > width {
		return string(runes[:width]) + "..."
	}
	return line
}

// show prints the reason of each failure, within bounds; and last in a line each, as some show the end of a log only.
func show(w io.Writer, failures []failure) {
	// A test of which a subtest failed has nothing of its own to say.
	failures = slices.DeleteFunc(slices.Clone(failures), func(f failure) bool {
		return len(f.log) <= 1 && slices.ContainsFunc(failures, func(other failure) bool {
			return other.report == f.report && other.pkg == f.pkg && strings.HasPrefix(other.test, f.test+"/")
		})
	})
	if len(failures) == 0 {
		return
	}
	each := max(leastLines, min(mostLines, allLines/len(failures)))
	shown := 0
	for i, f := range failures {
		part := excerpt(f.log, each)
		if shown+len(part) > allLines {
			fmt.Fprintf(w, "---- and %d more: see the reports\n", len(failures)-i)
			break
		}
		shown += len(part)
		fmt.Fprintf(w, "---- %s %s (whole in %s)\n", f.pkg, f.test, f.report)
		for _, line := range part {
			fmt.Fprintln(w, cut(line))
		}
	}
	fmt.Fprintln(w, "---- in a line each:")
	for _, f := range failures[:min(mostReasons, len(failures))] {
		fmt.Fprintf(w, "%s %s: %s\n", f.pkg, f.test, inOneLine(f.log))
	}
}
