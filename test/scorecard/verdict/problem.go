package verdict

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestError is why a test does not pass.
type TestError struct {
	// What went wrong, and where.
	What string
	// Suggestion is what a person can do about it.
	Suggestion string
	// Prevented tells that the test could not be made, so that nothing is known about the operator.
	Prevented bool
}

// Error says what went wrong.
func (p *TestError) Error() string { return p.What }

// Failed is what the operator did wrong.
func Failed(suggestion, format string, args ...any) error {
	return &TestError{What: fmt.Sprintf(format, args...), Suggestion: suggestion}
}

// Prevented is why a test could not be made.
func Prevented(suggestion, format string, args ...any) error {
	return &TestError{What: fmt.Sprintf(format, args...), Suggestion: suggestion, Prevented: true}
}

// CutShort says of an error that it is none of the operator's if the test had no more time, or was stopped.
func CutShort(ctx context.Context, err error) error {
	var problem *TestError
	if err == nil || ctx.Err() == nil || errors.As(err, &problem) {
		return err
	}
	return Prevented("Let the tests run to their end: operator-sdk scorecard --wait-time 10m.", "the test was stopped: %v", err)
}

// Final reports whether a retry is of no use: a user has to act first.
func Final(err error) bool {
	var problem *TestError
	return errors.As(err, &problem) || lacksPermission(err)
}

const grant = "The tests need the permissions of config/scorecard/rbac.yaml of the operator: apply it, and run operator-sdk scorecard " +
	"with --namespace and --service-account as it names them."

// problems are all that an error consists of. An error of the API server is a test that was prevented.
func problems(err error) []*TestError {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		var all []*TestError
		for _, one := range joined.Unwrap() {
			all = append(all, problems(one)...)
		}
		return all
	}
	var problem *TestError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &problem):
		return []*TestError{problem}
	case lacksPermission(err):
		return []*TestError{{What: err.Error(), Suggestion: grant, Prevented: true}}
	default:
		return []*TestError{{What: err.Error(), Prevented: true}}
	}
}

// lacksPermission tells RBAC's refusal from those of quota, Pod Security and other admission.
func lacksPermission(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot ")
}

func stateOf(found []*TestError) v1alpha3.State {
	state := v1alpha3.PassState
	for _, problem := range found {
		if problem.Prevented {
			return v1alpha3.ErrorState
		}
		state = v1alpha3.FailState
	}
	return state
}
