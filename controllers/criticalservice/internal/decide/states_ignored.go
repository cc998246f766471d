package decide

import (
	criticalv2 "github.com/critical-service/operator/api/v2"
)

// exclusions are the Services that cannot or must not be protected.
var exclusions = []rule{
	ignored(terminating, criticalv2.ReasonTerminating,
		"The Service is being deleted."),
	ignored(optedOut, criticalv2.ReasonOptedOut,
		"The Service's owner opted out with the annotation "+criticalv2.AnnotationCriticalService+": "+criticalv2.OptOut+"."),
	ignored(externalName, criticalv2.ReasonExternalName,
		"A Service of type ExternalName is a DNS alias and has no endpoints to fall back for."),
	ignored(noSelector, criticalv2.ReasonNoSelector,
		"The Service has no selector, so no fallback Pod can become its endpoint."),
	ignored(noTCPPort, criticalv2.ReasonNoTCPPort,
		"The Service has no TCP port, and the page answers TCP only: use a podTemplate or service fallback."),
	ignored(reservedSelector, criticalv2.ReasonReservedSelector,
		"The Service's selector uses a label under "+criticalv2.ReservedPrefix+
			", which is reserved for fallbacks; select the application's Pods by a label of their own."),
}

func ignored(why exclusion, reason, message string) rule {
	return rule{
		when:  func(d *decision) bool { return d.want.excluded == why },
		state: is(criticalv2.StateIgnored), reason: reason, message: says(message),
	}
}

// obstacles come before anything that could be said of a fallback.
var obstacles = []rule{
	{ // A standby slice cannot be written, and nothing answers without it.
		when: func(d *decision) bool {
			return d.Refusal != nil && !d.want.byLabels() && len(d.slices.publish) > 0 && (d.up() || d.unknown() || !d.answered())
		},
		state:    unprotected,
		reasonOf: func(d *decision) string { return d.Refusal.Reason },
		message:  func(d *decision) string { return d.Refusal.Message },
	},
	{
		when: func(d *decision) bool { return d.unknown() }, state: is(criticalv2.StateArming),
		reason:  criticalv2.ReasonEndpointsUnknown,
		message: says("Kubernetes has not published an EndpointSlice for the Service yet."),
	},
}
