package protection

import (
	"slices"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Remedy is what ends the state that a reason explains.
type Remedy int

const (
	// None is needed: nothing is wrong, or the Service is left alone on purpose.
	None Remedy = iota
	// Time is enough: the operator or Kubernetes is at it.
	Time
	// Attention: a person has to look, but it may also pass by itself, such as a quota that
	// is used up, an image that cannot be pulled, or a backup whose Pods start.
	Attention
	// Change: waiting does not end it. A person has to change the object, something that
	// it names, or a setting.
	Change
)

// remedy is what ends the state of one reason.
type remedy struct {
	reason string
	is     Remedy
}

// ofServices are the reasons of a Service's state. Those that a person has to do something
// about come in order, the most general first: one missing PodTemplate explains many Services.
var ofServices = []remedy{
	{criticalv2.ReasonPodsForbidden, Change},
	{criticalv2.ReasonTemplateNotFound, Change},
	{criticalv2.ReasonTemplateForbidden, Change},
	{criticalv2.ReasonResponderFailing, Attention},
	{criticalv2.ReasonCreateDenied, Attention},
	{criticalv2.ReasonNameTaken, Change},
	{criticalv2.ReasonBackupNotFound, Change},
	{criticalv2.ReasonBackupUnsuitable, Change},
	{criticalv2.ReasonBackupNotReady, Attention},
	{criticalv2.ReasonHeadlessUnsupported, Change},
	{criticalv2.ReasonFamilyMissing, Change},
	{criticalv2.ReasonSelectorOverlap, Change},
	{criticalv2.ReasonPortMismatch, Change},
	{criticalv2.ReasonPortUnanswered, Attention}, // A port that was just added is answered in seconds.
	{criticalv2.ReasonFallbackFailing, Attention},
	{criticalv2.ReasonPageContentInvalid, Change},

	{criticalv2.ReasonEndpointsUnknown, Time},
	{criticalv2.ReasonFallbackStarting, Time},
	{criticalv2.ReasonDryRunPending, Time},
	{criticalv2.ReasonResponderStarting, Time},
	{criticalv2.ReasonSlicePending, Time},

	{criticalv2.ReasonNoSelector, None},
	{criticalv2.ReasonExternalName, None},
	{criticalv2.ReasonTerminating, None},
	{criticalv2.ReasonOptedOut, None},
	{criticalv2.ReasonReservedSelector, None},
	{criticalv2.ReasonOverridden, None},
	{criticalv2.ReasonNoTCPPort, None},
	{criticalv2.ReasonStandbyReady, None},
	{criticalv2.ReasonStandbyServing, None},
	{criticalv2.ReasonEndpointsReady, None},
	{criticalv2.ReasonMaintenance, None},
	{criticalv2.ReasonFallbackServing, None},
}

// ofObjects are the reasons of the condition Ready, and of the conditions of a Maintenance.
// What ends NotProtected is what ends the states of the Services.
var ofObjects = []remedy{
	{criticalv2.ConditionReasonSelectorInvalid, Change},
	{criticalv2.ConditionReasonTooMany, Change},
	{criticalv2.ConditionReasonTurnedOff, Change},
	{criticalv2.ConditionReasonNamespaceNotWatched, Change},
	{criticalv2.ConditionReasonNotProtected, Time},
	{criticalv2.ConditionReasonProtected, None},
	{criticalv2.ConditionReasonNoServices, None},

	{criticalv2.MaintenanceScheduleInvalid, Change},
	{criticalv2.RestoreFailed, Change},
	{criticalv2.RestoreNotPermitted, Change},
	{criticalv2.MaintenanceAwaitingApplication, Time},
	{criticalv2.MaintenanceAnnounced, None},
	{criticalv2.MaintenanceDrill, None},
	{criticalv2.MaintenanceScheduled, None},
	{criticalv2.MaintenanceEnded, None},
	{criticalv2.RestoreOwed, None},
	{criticalv2.RestoreDone, None},
	{criticalv2.RestoreNothingTaken, None},
}

var remedies = func() map[string]Remedy {
	all := map[string]Remedy{}
	for _, r := range slices.Concat(ofServices, ofObjects) {
		all[r.reason] = r.is
	}
	return all
}()

// ReasonsToAct are the reasons of a state that a person has to do something about, the
// most general first.
var ReasonsToAct = func() (reasons []string) {
	for _, r := range ofServices {
		if r.is >= Attention {
			reasons = append(reasons, r.reason)
		}
	}
	return reasons
}()

// NeedsAction reports whether a reason says that a fallback does not work as it is, and
// that a person has to do something about it.
func NeedsAction(reason string) bool { return slices.Contains(ReasonsToAct, reason) }

// NeedsChange reports whether waiting does not end what a reason explains: that of a
// Service's state, of Ready, or of a condition of a Maintenance.
func NeedsChange(reason string) bool { return remedies[reason] == Change }
