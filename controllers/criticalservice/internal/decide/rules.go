package decide

import (
	"slices"
	"time"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// rule says how a Service stands where it applies.
type rule struct {
	when  func(*decision) bool
	state func(*decision) criticalv2.ServiceState
	// reason is a constant, or reasonOf where it is not said here.
	reason   string
	reasonOf func(*decision) string
	message  func(*decision) string
	// provisional: the API server is about to be asked.
	provisional bool
	// changesIn is when the rule ceases to apply by time alone; nil is never.
	changesIn func(*decision) time.Duration
	// besides is what is said besides, in order.
	besides []remark
}

// remark adds to what a rule says.
type remark func(*decision, standing) standing

// within are rules that apply only where something else holds as well.
func within(holds func(*decision) bool, rules []rule) []rule {
	limited := slices.Clone(rules)
	for i := range limited {
		when := limited[i].when
		limited[i].when = func(d *decision) bool { return holds(d) && when(d) }
	}
	return limited
}

// adding are rules that say something besides.
func adding(besides remark, rules []rule) []rule {
	extended := slices.Clone(rules)
	for i := range extended {
		extended[i].besides = append(slices.Clone(extended[i].besides), besides)
	}
	return extended
}

// first is the first rule that applies. The last one always does.
func first(rules []rule, d *decision) *rule {
	for i := range rules {
		if rules[i].when(d) {
			return &rules[i]
		}
	}
	return &rules[len(rules)-1]
}

// always is a condition that holds where no rule before did.
func always(*decision) bool { return true }

// is returns a state that a rule always says.
func is(state criticalv2.ServiceState) func(*decision) criticalv2.ServiceState {
	return func(*decision) criticalv2.ServiceState { return state }
}

// says returns a message that a rule always says.
func says(message string) func(*decision) string {
	return func(*decision) string { return message }
}

// unprotected is the state of a Service that has no fallback that answers.
func unprotected(d *decision) criticalv2.ServiceState {
	if d.up() {
		return criticalv2.StateArming
	}
	return criticalv2.StateExposed
}

// bridged is the state of a Service whose own fallback does not answer yet: it is
// covered where what another kind of fallback published still does.
func bridged(d *decision) criticalv2.ServiceState {
	if d.down() && d.covered.somewhere {
		return criticalv2.StateCovered
	}
	return unprotected(d)
}

// serving is the reason of a fallback that answers: by itself, or promoted for
// everyone.
func serving(d *decision) string {
	if d.promoted || d.want.byLabels() || d.current != nil && d.isSelected(d.current) {
		return criticalv2.ReasonFallbackServing
	}
	return criticalv2.ReasonStandbyServing
}
