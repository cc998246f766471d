package testenv

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheLintFindsWhatIsWrongWithConditions(t *testing.T) {
	known := map[string][]string{"Ready/True": {"Protected"}, "Ready/False": {"NotProtected"}, "Outage/False": {"NoOutage"}}
	good := func() []metav1.Condition {
		then := metav1.NewTime(time.Now().Add(-time.Minute))
		return []metav1.Condition{
			{Type: "Ready", Status: "True", Reason: "Protected", Message: "2 of 2 are protected until 2026-11-20T12:00:00Z.", ObservedGeneration: 2, LastTransitionTime: then},
			{Type: "Outage", Status: "False", Reason: "NoOutage", Message: "None.", ObservedGeneration: 2, LastTransitionTime: then},
		}
	}
	for sentence, test := range map[string]struct {
		spoil func([]metav1.Condition) []metav1.Condition
		want  string
	}{
		"a reason that is documented for another status": {
			func(c []metav1.Condition) []metav1.Condition { c[0].Reason = "NotProtected"; return c }, "not documented",
		},
		"a reason of two words":   {func(c []metav1.Condition) []metav1.Condition { c[0].Reason = "not protected"; return c }, "CamelCase"},
		"a type that comes twice": {func(c []metav1.Condition) []metav1.Condition { return append(c, c[0]) }, "twice"},
		"a condition about an earlier generation": {
			func(c []metav1.Condition) []metav1.Condition { c[1].ObservedGeneration = 1; return c }, "about generation 1",
		},
		"no message": {func(c []metav1.Condition) []metav1.Condition { c[1].Message = ""; return c }, "empty"},
		"a message with a moment": {func(c []metav1.Condition) []metav1.Condition {
			c[1].Message = "Seen at 2026-11-20T12:00:00Z."
			return c
		}, "tells a time"},
		"a message with a mistake": {func(c []metav1.Condition) []metav1.Condition { c[1].Message = "Pod %!s(MISSING)"; return c }, "filled in"},
		"a change that has no time": {
			func(c []metav1.Condition) []metav1.Condition { c[1].LastTransitionTime = metav1.Time{}; return c }, "no time in the past",
		},
		"a change in the future": {
			func(c []metav1.Condition) []metav1.Condition {
				c[1].LastTransitionTime = metav1.NewTime(time.Now().Add(time.Hour))
				return c
			}, "no time in the past",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			NewWithT(t).Expect(LintConditions(2, 2, test.spoil(good()), known)).To(ContainElement(ContainSubstring(test.want)))
		})
	}
	g := NewWithT(t)
	g.Expect(LintConditions(2, 2, good(), known)).To(BeEmpty())
	g.Expect(LintConditions(3, 2, good(), known)).To(BeEmpty(), "a status may be behind")
	g.Expect(LintConditions(1, 2, good(), known)).To(ContainElement(ContainSubstring("ahead of the generation")))
}
