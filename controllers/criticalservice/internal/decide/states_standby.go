package decide

import (
	"fmt"
	"slices"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// standbyRules are about a fallback that the operator publishes: a page, a backup
// Service, or a Pod that answers on after the outage.
var standbyRules = slices.Concat(
	adding(shortOf, answeringRules),
	[]rule{{ // Nothing can answer.
		when:  func(d *decision) bool { return d.want.kind == "" },
		state: unprotected, reasonOf: shortfallReason, message: shortfallMessage,
	}},
	within(lacks(criticalv2.FallbackKindPage), adding(shortOf, pageRules)),
	within(lacks(criticalv2.FallbackKindService), backupRules),
	adding(shortOf, unpublishedRules),
)

// answeringRules are about what is published and answers, or would.
var answeringRules = []rule{
	{
		when:  func(d *decision) bool { return d.down() && d.covered.somewhere },
		state: is(criticalv2.StateCovered), reasonOf: serving,
		message: func(d *decision) string {
			return fmt.Sprintf("The Service has no ready endpoint of its own; %s answers.", d.answerer())
		},
		besides: []remark{missingPlaces},
	},
	{
		when:  func(d *decision) bool { return d.up() && d.covered.everywhere && d.ready() },
		state: is(criticalv2.StateArmed), reason: criticalv2.ReasonStandbyReady,
		message: func(d *decision) string {
			return fmt.Sprintf("The Service answers by itself; %s would answer in its place at once.", d.answerer())
		},
	},
}

// unpublishedRules are about what could answer, and is not published everywhere.
var unpublishedRules = []rule{
	{
		when:  func(d *decision) bool { return d.slices.writes() },
		state: unprotected, reason: criticalv2.ReasonSlicePending, provisional: true,
		message: says("The standby endpoint is being published."),
	},
	{
		when:  func(d *decision) bool { return len(d.covered.ports) > 0 },
		state: unprotected, reason: criticalv2.ReasonPortUnanswered, message: (*decision).portsMissing,
	},
	{
		when: always, state: unprotected, reason: criticalv2.ReasonFamilyMissing, message: (*decision).familyMissing,
	},
}

// lacks holds where a kind of fallback is wanted and cannot answer.
func lacks(kind string) func(*decision) bool {
	return func(d *decision) bool { return d.want.kind == kind && !d.ready() }
}

// missingPlaces adds that a fallback answers in one IP family only, or on some ports.
func missingPlaces(d *decision, said standing) standing {
	if !d.covered.everywhere && d.slices.writes() {
		said.reason, said.provisional = criticalv2.ReasonSlicePending, true
		return said
	}
	if len(d.covered.families) > 0 {
		said.reason = criticalv2.ReasonFamilyMissing
		said.message += " " + d.familyMissing()
	}
	if len(d.covered.ports) > 0 {
		said.reason = criticalv2.ReasonPortUnanswered
		said.message += " " + d.portsMissing()
	}
	return said
}
