// Package judge reads the results of a whole scorecard run, of the built-in tests and the custom ones, and
// says whether there is anything left to do.
package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
)

// accepted is a suggestion of a built-in test that cannot be followed.
type accepted struct {
	// test is what scorecard calls the test.
	test string
	// part is what the suggestion contains.
	part string
	// why is what keeps one from following it.
	why string
}

// suggestions are those that remain.
var suggestions = []accepted{
	{
		test: "olm-status-descriptors", part: "does not have status spec",
		why: "The test looks for a status in the examples of the bundle. An example is what a user writes, and only the operator writes " +
			"the status. All fields of the status have descriptors.",
	},
}

// Judge prints the results as scorecard does, writes a JUnit report where a file is named, and fails if a
// test did not pass, or has a suggestion that could be acted on.
func Judge(results io.Reader, out io.Writer, report string) error {
	var list v1alpha3.TestList
	if err := json.NewDecoder(results).Decode(&list); err != nil {
		return fmt.Errorf("what was read is no result of `operator-sdk scorecard --output json`: %w", err)
	}
	var remarks, notes []string
	suite := &suite{Name: "scorecard"}
	for _, test := range list.Items {
		if _, err := fmt.Fprintln(out, test.MarshalText()); err != nil {
			return err
		}
		name := nameOf(test)
		if len(test.Status.Results) == 0 {
			suite.add(name, "the test gave no result", "")
			remarks = append(remarks, name+": the test gave no result")
		}
		for _, result := range test.Status.Results {
			remark, noted := judged(result)
			notes = append(notes, noted...)
			suite.add(name, remark, result.Log)
			if remark != "" {
				remarks = append(remarks, name+": "+remark)
			}
		}
	}
	if len(list.Items) == 0 {
		remarks = append(remarks, "scorecard ran no test: does a test have the labels that --selector asks for?")
	}
	if report != "" {
		if err := suite.write(report); err != nil {
			return err
		}
	}
	slices.Sort(notes)
	for _, note := range slices.Compact(notes) {
		if _, err := fmt.Fprintln(out, note); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(out, "%d tests, %d with something to fix\n", suite.Tests, len(remarks)); err != nil {
		return err
	}
	if len(remarks) > 0 {
		return errors.New(strings.Join(remarks, "\n"))
	}
	return nil
}

// judged says what is to be fixed, if anything, and notes what cannot be.
func judged(result v1alpha3.TestResult) (remark string, notes []string) {
	var remarks []string
	if result.State != v1alpha3.PassState {
		remarks = append(remarks, "state "+string(result.State))
	}
	remarks = append(remarks, result.Errors...)
	for _, suggestion := range result.Suggestions {
		if why, known := explanation(result.Name, suggestion); known {
			notes = append(notes, fmt.Sprintf("%s suggests: %s\n  It cannot be followed: %s", result.Name, suggestion, why))
		} else {
			remarks = append(remarks, "suggestion: "+suggestion)
		}
	}
	return strings.Join(remarks, "; "), notes
}

func explanation(test, suggestion string) (why string, known bool) {
	for _, one := range suggestions {
		if one.test == test && strings.Contains(suggestion, one.part) {
			return one.why, true
		}
	}
	return "", false
}

// nameOf is the name that the configuration gives the test, which says more than that of its image.
func nameOf(test v1alpha3.Test) string {
	if name := test.Spec.Labels["test"]; name != "" {
		return name
	}
	return strings.Join(test.Spec.Entrypoint, " ")
}

func (s *suite) write(file string) error {
	text, err := s.xml()
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}
