package protection

import (
	"slices"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// ReasonsToAct are the reasons of a state that a person has to do something about, the
// most general first: one missing PodTemplate explains many Services.
var ReasonsToAct = []string{
	criticalv2.ReasonTemplateNotFound,
	criticalv2.ReasonTemplateForbidden,
	criticalv2.ReasonResponderFailing,
	criticalv2.ReasonCreateDenied,
	criticalv2.ReasonNameTaken,
	criticalv2.ReasonBackupNotFound,
	criticalv2.ReasonBackupUnsuitable,
	criticalv2.ReasonBackupNotReady,
	criticalv2.ReasonHeadlessUnsupported,
	criticalv2.ReasonFamilyMissing,
	criticalv2.ReasonSelectorOverlap,
	criticalv2.ReasonPortMismatch,
	criticalv2.ReasonPortUnanswered,
	criticalv2.ReasonFallbackFailing,
	criticalv2.ReasonPageContentInvalid,
}

// NeedsAction reports whether a reason says that a fallback does not work as it is, and
// that a person has to do something about it.
func NeedsAction(reason string) bool { return slices.Contains(ReasonsToAct, reason) }
