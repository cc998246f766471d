package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// podRules are about a Pod of a template that is to run now: in an outage, or as a
// standby before it.
var podRules = adding(shortOf, slices.Concat(adding(missingPorts, servingPodRules), adding(bridge, missingPodRules)))

// servingPodRules are about a Pod that serves.
var servingPodRules = []rule{
	{
		when:  func(d *decision) bool { return d.currentServes && d.down() && d.covered.somewhere },
		state: is(criticalv2.StateCovered), reasonOf: serving,
		message: func(d *decision) string {
			return fmt.Sprintf("The Service has no ready endpoint of its own; fallback Pod %q answers.", d.current.Name)
		},
	},
	{
		when:  func(d *decision) bool { return d.currentServes && d.up() },
		state: is(criticalv2.StateArmed), reason: criticalv2.ReasonStandbyReady,
		message: func(d *decision) string {
			return fmt.Sprintf("The Service answers by itself; Pod %q would answer in its place at once.", d.current.Name)
		},
	},
}

// missingPodRules are about a Pod that does not serve yet, or is not there.
var missingPodRules = []rule{
	{
		when:  func(d *decision) bool { return d.currentServes },
		state: bridged, reason: criticalv2.ReasonPortUnanswered, message: (*decision).portsMissing,
	},
	{
		when:  func(d *decision) bool { return d.current != nil && d.pod.problem != "" },
		state: bridged, reason: criticalv2.ReasonFallbackFailing,
		message: func(d *decision) string {
			return fmt.Sprintf("Fallback Pod %q does not answer: %s. A change of its PodTemplate replaces it.", d.current.Name, d.pod.problem)
		},
	},
	{
		when:  func(d *decision) bool { return d.current != nil },
		state: bridged, reason: criticalv2.ReasonFallbackStarting,
		message: func(d *decision) string { return fmt.Sprintf("Fallback Pod %q is starting.", d.current.Name) },
	},
	{
		when:  func(d *decision) bool { return d.pod.servesNoPort(d.Service) },
		state: bridged, reason: criticalv2.ReasonPortMismatch, message: (*decision).portMismatch,
	},
	{
		when:  func(d *decision) bool { return d.pod.holder != nil && d.pod.holder.DeletionTimestamp == nil },
		state: bridged, reason: criticalv2.ReasonFallbackFailing,
		message: func(d *decision) string {
			status := d.pod.holder.Status
			return fmt.Sprintf("Fallback Pod %q ended (%s) and is being replaced.", d.pod.holder.Name, cmp.Or(status.Reason, string(status.Phase)))
		},
	},
	{
		when:  func(d *decision) bool { return d.pod.holder != nil && d.overdueIn(d.pod.holder) > 0 },
		state: bridged, reason: criticalv2.ReasonFallbackStarting,
		message: func(d *decision) string {
			return fmt.Sprintf("An earlier fallback Pod %q must be gone before the next can be made.", d.pod.holder.Name)
		},
	},
	{
		when:  func(d *decision) bool { return d.pod.holder != nil && len(d.pod.holder.Finalizers) > 0 },
		state: bridged, reason: criticalv2.ReasonFallbackFailing,
		message: func(d *decision) string {
			return fmt.Sprintf("An earlier fallback Pod %q cannot be deleted because of its finalizers %s: let their owner finish, or remove them.",
				d.pod.holder.Name, strings.Join(d.pod.holder.Finalizers, ", "))
		},
	},
	{
		when:  func(d *decision) bool { return d.pod.holder != nil },
		state: bridged, reason: criticalv2.ReasonFallbackFailing,
		message: func(d *decision) string {
			return fmt.Sprintf("Fallback Pod %q is stuck in Terminating because its node is unresponsive; force-deleting it.", d.pod.holder.Name)
		},
	},
	{
		when:  func(d *decision) bool { return d.pod.attempt.isReported() },
		state: bridged, reasonOf: attemptReason, message: attemptMessage,
	},
	{
		when: always, state: bridged, reason: criticalv2.ReasonFallbackStarting, provisional: true,
		message: func(d *decision) string { return fmt.Sprintf("Fallback Pod %q is being made.", d.PodName()) },
	},
}

// onDemandRules are about a Pod that is made in an outage, before it.
var onDemandRules = []rule{
	{
		when:  func(d *decision) bool { return d.want.shortfall != "" },
		state: unprotected, reasonOf: shortfallReason, message: shortfallMessage,
	},
	{
		when:  func(d *decision) bool { return len(d.Unread) > 0 },
		state: unprotected, reason: criticalv2.ReasonDryRunPending, provisional: true,
		message: says("The PodTemplates of fallback Pods are being read."),
	},
	{
		when:  func(d *decision) bool { return len(d.pod.mismatches) > 0 },
		state: unprotected, reason: criticalv2.ReasonPortMismatch, message: (*decision).portMismatch,
	},
	{
		when:  func(d *decision) bool { return d.pod.overlap != "" },
		state: unprotected, reason: criticalv2.ReasonSelectorOverlap,
		message: func(d *decision) string { return d.pod.overlap },
	},
	{
		when:  func(d *decision) bool { return d.pod.attempt.isReported() },
		state: unprotected, reasonOf: attemptReason, message: attemptMessage,
	},
	{
		when:  func(d *decision) bool { return (d.pod.attempt == nil || d.pod.attempt.refused()) && len(d.Pods) == 0 },
		state: unprotected, reason: criticalv2.ReasonDryRunPending, provisional: true,
		message: says("The API server is being asked, by a dry run, whether it would accept the fallback Pod."),
	},
	{
		when: always, state: is(criticalv2.StateArmed), reason: criticalv2.ReasonEndpointsReady,
		message: func(d *decision) string {
			return fmt.Sprintf("The Service answers by itself; Pod %q would be made from PodTemplate %s/%s.", d.PodName(), d.Template.Namespace, d.Template.Name)
		},
	},
}

func attemptReason(d *decision) string  { return d.pod.attempt.Reason }
func attemptMessage(d *decision) string { return d.pod.attempt.Message }

// missingPorts adds that a Pod answers on some ports only, and why.
func missingPorts(d *decision, said standing) standing {
	switch {
	case len(d.pod.mismatches) > 0:
		said.reason = criticalv2.ReasonPortMismatch
		said.message += " " + d.portMismatch()
	case d.pod.overlap != "" && !d.covered.everywhere:
		said.reason = criticalv2.ReasonSelectorOverlap
		said.message += " " + d.pod.overlap
	default:
		return missingPlaces(d, said)
	}
	return said
}

// bridge adds what answers until the Pod does.
func bridge(d *decision, said standing) standing {
	if said.state == criticalv2.StateCovered {
		said.message = fmt.Sprintf("%s Until then, %s answers.", said.message, d.answerer())
	}
	return said
}

func (d *decision) portMismatch() string {
	texts := make([]string, 0, len(d.pod.mismatches))
	for _, mismatch := range d.pod.mismatches {
		texts = append(texts, mismatch.String())
	}
	return fmt.Sprintf("PodTemplate %s/%s does not serve the Service: %s. Let a container listen there and declare that containerPort.",
		d.Template.Namespace, d.Template.Name, strings.Join(texts, "; "))
}
