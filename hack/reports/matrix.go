package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// columns are the reports that a row of the matrix has, as patterns, in the order of its columns. Those whose names begin with
// "failed" are of targets of make that failed though no test did.
var columns = [][]string{
	{"unit.xml", "devcluster.xml", "failed-test.xml"},
	{"workloads.xml", "failed-workloads.xml"},
	{"e2e.xml", "failed-e2e.xml"},
	{"e2e-workloads.xml", "failed-e2e-workloads.xml"},
	{"consumers-*.xml", "failed-consumers.xml"},
}

// untested stands where a version was not tried.
const untested = "-"

// separator is the line below the head of the matrix.
var separator = regexp.MustCompile(`(?m)^\|(---\|)+\n`)

// matrix writes what came of the tests on one version of Kubernetes into the table of a document. Reports that are not
// there are those of targets that the version does not have.
func matrix(document, kubernetes, folder string, day time.Time) error {
	text, err := os.ReadFile(document) //nolint:gosec // A script names the file.
	if err != nil {
		return err
	}
	row := []string{kubernetes}
	for _, patterns := range columns {
		cell, err := outcome(folder, patterns)
		if err != nil {
			return err
		}
		row = append(row, cell)
	}
	text, err = withRow(text, append(row, day.Format(time.DateOnly)))
	if err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	return os.WriteFile(document, text, 0o644) //nolint:gosec // A document is for all.
}

// outcome is how many tests passed, and how many did not.
func outcome(folder string, patterns []string) (string, error) {
	var reports []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return "", err
		}
		reports = append(reports, found...)
	}
	if len(reports) == 0 {
		return untested, nil
	}
	var passed, failed int
	for _, report := range reports {
		parsed, err := readAll(report)
		if err != nil {
			return "", err
		}
		for _, suite := range parsed.Suites {
			for _, c := range suite.Cases {
				switch {
				case c.Failure != nil:
					failed++
				case c.Skipped == nil:
					passed++
				}
			}
		}
	}
	if failed > 0 {
		return fmt.Sprintf("%d, %d failed", passed, failed), nil
	}
	return strconv.Itoa(passed), nil
}

// withRow replaces the row of a minor version, or adds it; the newest version is first.
func withRow(text []byte, row []string) ([]byte, error) {
	head := separator.FindIndex(text)
	if head == nil {
		return nil, errors.New("there is no table")
	}
	rest := text[head[1]:]
	end := 0
	rows := [][]string{row}
	for line := range bytes.Lines(rest) {
		if !bytes.HasPrefix(line, []byte("|")) {
			break
		}
		end += len(line)
		cells := strings.Split(strings.Trim(string(bytes.TrimSpace(line)), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if minor(cells[0]) != minor(row[0]) {
			rows = append(rows, cells)
		}
	}
	slices.SortFunc(rows, func(a, b []string) int { return cmp.Compare(minor(b[0]), minor(a[0])) })
	var table bytes.Buffer
	for _, cells := range rows {
		fmt.Fprintf(&table, "| %s |\n", strings.Join(cells, " | "))
	}
	return slices.Concat(text[:head[1]], table.Bytes(), rest[end:]), nil
}

// minor is 28 of 1.28.15.
func minor(version string) int {
	_, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	number, _ := strconv.Atoi(minor) // What is no version comes last.
	return number
}
