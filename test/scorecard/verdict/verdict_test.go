package verdict_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/critical-service/operator/test/scorecard/verdict"
)

var pods = schema.GroupResource{Resource: "pods"}

func TestStatus(t *testing.T) {
	for sentence, test := range map[string]struct {
		err         error
		state       v1alpha3.State
		errors      []string
		suggestions []string
	}{
		"no error passes": {state: v1alpha3.PassState},
		"what the operator did wrong fails": {
			err: verdict.Failed("fix it", "%d left", 2), state: v1alpha3.FailState, errors: []string{"2 left"}, suggestions: []string{"fix it"},
		},
		"what prevents a test says nothing of the operator": {
			err: verdict.Prevented("install it", "none"), state: v1alpha3.ErrorState, errors: []string{"none"}, suggestions: []string{"install it"},
		},
		"an error of the API server prevents": {
			err: errors.New("connection refused"), state: v1alpha3.ErrorState, errors: []string{"connection refused"},
		},
		"each of several errors is reported, and a suggestion once": {
			err:   fmt.Errorf("together: %w", errors.Join(verdict.Failed("fix it", "one"), verdict.Failed("fix it", "two"))),
			state: v1alpha3.FailState, errors: []string{"one", "two"}, suggestions: []string{"fix it"},
		},
		"one that prevents makes the whole an error": {
			err: errors.Join(verdict.Failed("", "one"), errors.New("two")), state: v1alpha3.ErrorState, errors: []string{"one", "two"},
		},
		"a missing permission is reported with how to get it": {
			err:    fmt.Errorf("list: %w", apierrors.NewForbidden(pods, "", errors.New(`User "x" cannot list resource "pods"`))),
			state:  v1alpha3.ErrorState,
			errors: []string{`list: pods is forbidden: User "x" cannot list resource "pods"`},
			suggestions: []string{"The tests need the permissions of config/scorecard/rbac.yaml of the operator: apply it, and run operator-sdk scorecard " +
				"with --namespace and --service-account as it names them."},
		},
		"what admission forbids is no matter of permissions": {
			err:    apierrors.NewForbidden(pods, "a", errors.New("exceeded quota")),
			state:  v1alpha3.ErrorState,
			errors: []string{`pods "a" is forbidden: exceeded quota`},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			journal := verdict.NewJournal()
			journal.Say("It did %s.", "something")
			status := journal.Status("armed", test.err)
			g.Expect(status.Results).To(HaveLen(1))
			result := status.Results[0]
			g.Expect(result.Name).To(Equal("armed"))
			g.Expect(result.State).To(Equal(test.state))
			g.Expect(result.Errors).To(Equal(test.errors))
			g.Expect(result.Suggestions).To(Equal(test.suggestions))
			g.Expect(result.Log).To(HaveSuffix("It did something."))
		})
	}
}

func TestCutShort(t *testing.T) {
	g := NewWithT(t)
	failed, broken := verdict.Failed("", "wrong"), errors.New("connection closed")
	g.Expect(verdict.CutShort(t.Context(), broken)).To(Equal(broken), "a test that goes on has its own errors")

	stopped, stop := context.WithCancel(t.Context())
	stop()
	g.Expect(verdict.CutShort(stopped, nil)).To(Succeed())
	g.Expect(verdict.CutShort(stopped, failed)).To(Equal(failed), "what is known stays known")
	g.Expect(verdict.CutShort(stopped, broken)).To(MatchError("the test was stopped: connection closed"))
}

func TestFinal(t *testing.T) {
	g := NewWithT(t)
	g.Expect(verdict.Final(verdict.Failed("", "wrong"))).To(BeTrue())
	g.Expect(verdict.Final(apierrors.NewForbidden(pods, "", errors.New("User cannot list")))).To(BeTrue())
	g.Expect(verdict.Final(errors.New("connection refused"))).To(BeFalse(), "it may work the next time")
}
