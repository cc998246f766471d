package main

import (
	"cmp"
	"encoding/xml"
	"os"
	"strings"
)

// failure is a test that failed, with all that it printed.
type failure struct {
	pkg, test string
	log       []string
	// The report that has it.
	report string
}

// root is the test that a subtest belongs to.
func (f failure) root() string {
	name, _, _ := strings.Cut(f.test, "/")
	return name
}

// suites is what this program reads of a JUnit report.
type suites struct {
	Suites []struct {
		Name  string `xml:"name,attr"`
		Cases []struct {
			Package string  `xml:"classname,attr"`
			Test    string  `xml:"name,attr"`
			Failure *string `xml:"failure"`
			Skipped *string `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

// readAll reads a report.
func readAll(report string) (suites, error) {
	var parsed suites
	data, err := os.ReadFile(report) //nolint:gosec // A script names the file.
	if err == nil {
		err = xml.Unmarshal(data, &parsed) //nolint:gosec // The tests of this repository wrote it.
	}
	return parsed, err
}

// read finds the failures of a report.
func read(report string) ([]failure, error) {
	parsed, err := readAll(report)
	if err != nil {
		return nil, err
	}
	var found []failure
	for _, suite := range parsed.Suites {
		for _, c := range suite.Cases {
			if c.Failure == nil {
				continue
			}
			// A package that does not compile has its name only in the suite's.
			found = append(found, failure{pkg: cmp.Or(c.Package, suite.Name), test: c.Test, log: lines(*c.Failure), report: report})
		}
	}
	return found, nil
}

// lines are those of a test's log that are its own.
func lines(log string) []string {
	var kept []string
	for line := range strings.Lines(log) {
		line = strings.TrimRight(line, "\r\n")
		switch word, _, _ := strings.Cut(line, " "); word {
		case "===": // RUN, PAUSE, CONT and NAME of go test.
		default:
			kept = append(kept, line)
		}
	}
	return kept
}
