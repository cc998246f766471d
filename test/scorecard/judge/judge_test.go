package judge

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
)

const hint = "it does not have status spec. Note that all objects SHOULD have one"

func TestJudge(t *testing.T) {
	for sentence, test := range map[string]struct {
		results []v1alpha3.TestResult
		problem string
		shown   string
	}{
		"all passed":                      {results: []v1alpha3.TestResult{{Name: "armed", State: v1alpha3.PassState}}, shown: "1 tests, 0 with something to fix"},
		"a test that failed is to fix":    {results: []v1alpha3.TestResult{{State: v1alpha3.FailState, Errors: []string{"2 left"}}}, problem: "one: state fail; 2 left"},
		"so is one that could not be run": {results: []v1alpha3.TestResult{{State: v1alpha3.ErrorState}}, problem: "one: state error"},
		"so is one without a result":      {results: nil, problem: "one: the test gave no result"},
		"so is a suggestion": {
			results: []v1alpha3.TestResult{{State: v1alpha3.PassState, Suggestions: []string{"add an icon"}}}, problem: "one: suggestion: add an icon",
		},
		"a suggestion that cannot be followed is shown with the reason": {
			results: []v1alpha3.TestResult{{Name: "olm-status-descriptors", State: v1alpha3.PassState, Suggestions: []string{hint}}},
			shown:   "only the operator writes the status",
		},
		"the same suggestion of another test is to fix": {
			results: []v1alpha3.TestResult{{Name: "armed", State: v1alpha3.PassState, Suggestions: []string{hint}}}, problem: "one: suggestion: " + hint,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			one := v1alpha3.NewTest()
			one.Spec = v1alpha3.TestConfiguration{Image: "image", Entrypoint: []string{"scorecard"}, Labels: map[string]string{"test": "one"}}
			one.Status.Results = test.results
			text, err := json.Marshal(v1alpha3.TestList{Items: []v1alpha3.Test{one}})
			g.Expect(err).NotTo(HaveOccurred())

			var out bytes.Buffer
			report := filepath.Join(t.TempDir(), "scorecard.xml")
			err = Judge(bytes.NewReader(text), &out, report)
			written, readErr := os.ReadFile(report)
			g.Expect(readErr).NotTo(HaveOccurred())
			g.Expect(string(written)).To(ContainSubstring(`<testcase classname="scorecard" name="one">`))
			g.Expect(out.String()).To(ContainSubstring("Image:      image"), "it is shown as scorecard shows it")
			g.Expect(out.String()).To(ContainSubstring(test.shown))
			if test.problem == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(string(written)).NotTo(ContainSubstring("<failure"))
				return
			}
			g.Expect(err).To(MatchError(test.problem))
			g.Expect(string(written)).To(ContainSubstring("<failure"))
		})
	}
}

func TestJudgeWantsResults(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Judge(bytes.NewBufferString("error running tests"), &bytes.Buffer{}, "")).To(MatchError(ContainSubstring("operator-sdk scorecard --output json")))
	g.Expect(Judge(bytes.NewBufferString("{}"), &bytes.Buffer{}, "")).To(MatchError(ContainSubstring("scorecard ran no test")))
}
