package decide

import (
	"fmt"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
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
		when:  func(d *decision) bool { return d.down() && d.somewhere },
		state: is(criticalv2.StateCovered), reasonOf: serving,
		message: func(d *decision) string {
			return fmt.Sprintf("The Service has no ready endpoint of its own; %s answers.", d.answerer())
		},
		besides: []remark{missingFamily},
	},
	{
		when:  func(d *decision) bool { return d.up() && d.everywhere && d.ready() },
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
		when: always, state: unprotected, reason: criticalv2.ReasonFamilyMissing, message: (*decision).familyMissing,
	},
}

// lacks holds where a kind of fallback is wanted and cannot answer.
func lacks(kind string) func(*decision) bool {
	return func(d *decision) bool { return d.want.kind == kind && !d.ready() }
}

// missingFamily adds that a fallback answers in one IP family only.
func missingFamily(d *decision, said standing) standing {
	if !d.everywhere && !d.slices.writes() {
		said.reason = criticalv2.ReasonFamilyMissing
		said.message += " " + d.familyMissing()
	}
	return said
}

// familyMissing names the IP families of the Service in which nothing is published.
func (d *decision) familyMissing() string {
	missing := slices.DeleteFunc(render.Families(d.Service), func(family discoveryv1.AddressType) bool {
		slice := d.standby(family)
		return slice != nil && len(slice.Endpoints) > 0
	})
	var names []string
	for _, family := range missing {
		names = append(names, string(family))
	}
	return fmt.Sprintf("The fallback has no %s address, and the Service has: clients of that family get no answer.", strings.Join(names, " and no "))
}
