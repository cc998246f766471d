package verdict

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Journal is what a test did and saw, line by line.
type Journal struct {
	began time.Time

	mu    sync.Mutex
	lines []string
}

// NewJournal begins a journal.
func NewJournal() *Journal { return &Journal{began: time.Now()} }

// Say adds a line, with the time of day and the seconds since the beginning.
func (j *Journal) Say(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	j.lines = append(j.lines, fmt.Sprintf("%s %+6.1fs  %s",
		now.UTC().Format("15:04:05.000"), now.Sub(j.began).Seconds(), fmt.Sprintf(format, args...)))
}

// String is the whole journal.
func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, "\n")
}

// Status is what scorecard wants to know of a test that ended with err, or well.
func (j *Journal) Status(test string, err error) v1alpha3.TestStatus {
	found := problems(err)
	result := v1alpha3.TestResult{
		Name: test, State: stateOf(found), Log: j.String(), CreationTimestamp: metav1.NewTime(j.began),
	}
	for _, problem := range found {
		result.Errors = append(result.Errors, problem.What)
		if problem.Suggestion != "" && !slices.Contains(result.Suggestions, problem.Suggestion) {
			result.Suggestions = append(result.Suggestions, problem.Suggestion)
		}
	}
	return v1alpha3.TestStatus{Results: []v1alpha3.TestResult{result}}
}
