package testenv

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What a word of a status may be, and what its text must not hold: a moment makes a
// message another one at every look, and a verb that was not filled in is a mistake.
var (
	camelCase = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	aMoment   = regexp.MustCompile(`(?:^|[^l] )\d{4}-\d\d-\d\d[T ]\d\d:\d\d`) // "until 2026-11-20T12:00" is a plan
	unfilled  = regexp.MustCompile(`%!|<nil>|0x[0-9a-f]{6}|&\{`)
)

// IsWord reports whether something is a CamelCase word, as types and reasons are.
func IsWord(text string) bool { return len(text) <= 64 && camelCase.MatchString(text) }

// LintConditions holds the conditions of an object to the API conventions, and says
// what is wrong with them. Known lists the reasons of a type and a status, as
// "Type/Status"; it is what the documentation promises.
func LintConditions(generation, observed int64, conditions []metav1.Condition, known map[string][]string) []string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if observed > generation {
		say("observedGeneration %d is ahead of the generation, %d", observed, generation)
	}
	seen := map[string]bool{}
	for _, c := range conditions {
		if seen[c.Type] {
			say("condition %s is there twice", c.Type)
		}
		seen[c.Type] = true
		if !IsWord(c.Type) || !IsWord(c.Reason) {
			say("condition %q with reason %q: both must be CamelCase words", c.Type, c.Reason)
		}
		documented := false
		for _, reason := range known[c.Type+"/"+string(c.Status)] {
			documented = documented || reason == c.Reason
		}
		if !documented {
			say("condition %s=%s with reason %s is not documented", c.Type, c.Status, c.Reason)
		}
		if c.ObservedGeneration != observed {
			say("condition %s is about generation %d, and the status about %d", c.Type, c.ObservedGeneration, observed)
		}
		if c.LastTransitionTime.IsZero() || c.LastTransitionTime.After(time.Now().Add(time.Second)) {
			say("condition %s changed at %s, which is no time in the past", c.Type, c.LastTransitionTime)
		}
		wrong = append(wrong, LintMessage("condition "+c.Type, c.Message)...)
	}
	return wrong
}

// LintMessage says what is wrong with a text for people.
func LintMessage(where, message string) []string {
	switch {
	case strings.TrimSpace(message) != message || message == "":
		return []string{fmt.Sprintf("%s: the message %q is empty, or has blanks around it", where, message)}
	case aMoment.MatchString(message):
		return []string{fmt.Sprintf("%s: the message %q tells a time, which changes at every look", where, message)}
	case unfilled.MatchString(message):
		return []string{fmt.Sprintf("%s: the message %q was not filled in", where, message)}
	}
	return nil
}
