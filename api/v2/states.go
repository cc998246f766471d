package v2

// ServiceState is the state of one matched Service. Status, events, metrics
// and logs use these five words and no others.
//
//	Ignored     Arming ───────┬───────────▶ Exposed   nothing answers: only a Pod on demand,
//	             ▲  │         ▲ on demand     │       or when it was Arming
//	             │  ▼         │               ▼
//	            Armed ────────┴───────────▶ Covered   the fallback answers: a standby at once
//	              ▲                           │
//	              └─── a ready endpoint ◀─────┘
//
// +kubebuilder:validation:Enum=Ignored;Arming;Armed;Exposed;Covered
type ServiceState string

const (
	// StateIgnored means that the Service matches but is not protected by
	// this object; the reason says why.
	StateIgnored ServiceState = "Ignored"
	// StateArming means that the Service answers by itself, and that its
	// fallback would not work if it were needed now.
	StateArming ServiceState = "Arming"
	// StateArmed means that the Service answers by itself and that its
	// fallback is prepared.
	StateArmed ServiceState = "Armed"
	// StateExposed means that the Service has no ready endpoint of its own and
	// that nothing answers in its place yet.
	StateExposed ServiceState = "Exposed"
	// StateCovered means that the Service has no ready endpoint of its own and
	// that its fallback answers.
	StateCovered ServiceState = "Covered"
)

// Reasons of StateIgnored.
const (
	// ReasonNoSelector: the Service has no selector, so no Pod can join it.
	ReasonNoSelector = "NoSelector"
	// ReasonExternalName: the Service is a DNS alias and has no endpoints.
	ReasonExternalName = "ExternalName"
	// ReasonTerminating: the Service is being deleted.
	ReasonTerminating = "Terminating"
	// ReasonOptedOut: the Service carries the annotation
	// mycrd.com/critical-service: ignore.
	ReasonOptedOut = "OptedOut"
	// ReasonReservedSelector: the Service selects by a label under mycrd.com/,
	// which only fallbacks of the operator carry.
	ReasonReservedSelector = "ReservedSelector"
	// ReasonOverridden: another CriticalService or ServiceFallback governs the
	// Service.
	ReasonOverridden = "Overridden"
	// ReasonNoTCPPort: the Service has no TCP port, and the page answers TCP only.
	ReasonNoTCPPort = "NoTCPPort"
)

// Reasons of StateArmed and StateCovered. They may also have the reason of a problem:
// PortMismatch or PortUnanswered, where the fallback answers on some ports only, and
// PodsForbidden, TemplateNotFound, TemplateForbidden or PageContentInvalid, where the built-in page,
// or a Pod that was made before, replaces the configured fallback.
const (
	// ReasonStandbyReady: a standby endpoint is published and ready to answer.
	ReasonStandbyReady = "StandbyReady"
	// ReasonStandbyServing: the standby endpoint answers where proxies use
	// serving endpoints (kube-proxy, Cilium); it is not promoted yet.
	ReasonStandbyServing = "StandbyServing"
	// ReasonEndpointsReady: the Service has a ready endpoint of its own.
	ReasonEndpointsReady = "EndpointsReady"
	// ReasonMaintenance: a maintenance is announced. While the Service still has
	// ready endpoints of its own they get the traffic; then the page answers.
	ReasonMaintenance = "Maintenance"
	// ReasonFallbackServing: the fallback is a ready endpoint of the Service.
	ReasonFallbackServing = "FallbackServing"
)

// Reasons of StateArming and StateExposed, and of the condition FallbackReady
// while it is False: the problem that blocks the fallback.
const (
	// ReasonEndpointsUnknown: the cluster has not yet published an
	// EndpointSlice for the Service, so nothing is known.
	ReasonEndpointsUnknown = "EndpointsUnknown"
	// ReasonPodsForbidden: the operator has no permission to run Pods of PodTemplates.
	ReasonPodsForbidden = "PodsForbidden"
	// ReasonTemplateNotFound: the PodTemplate does not exist.
	ReasonTemplateNotFound = "TemplateNotFound"
	// ReasonPortMismatch: the PodTemplate declares ports, and they do not serve
	// a target port of the Service.
	ReasonPortMismatch = "PortMismatch"
	// ReasonCreateDenied: the API server refuses the fallback Pod: quota, limit
	// range, Pod Security, admission, or an invalid field.
	ReasonCreateDenied = "CreateDenied"
	// ReasonNameTaken: a Pod that is not the operator's has the fallback's name, or
	// an EndpointSlice that of the standby slice.
	ReasonNameTaken = "NameTaken"
	// ReasonFallbackStarting: the fallback Pod exists and is not ready yet.
	ReasonFallbackStarting = "FallbackStarting"
	// ReasonFallbackFailing: the fallback Pod exists and cannot become ready as
	// it is: image pull, crash loop, unschedulable, failed.
	ReasonFallbackFailing = "FallbackFailing"
	// ReasonDryRunPending: the operator is about to ask the API server, by a dry
	// run, whether it would accept the fallback Pod.
	ReasonDryRunPending = "DryRunPending"
	// ReasonResponderStarting: the responder of the namespace does not listen on
	// the Service's ports yet.
	ReasonResponderStarting = "ResponderStarting"
	// ReasonResponderFailing: the responder of the namespace cannot become ready
	// as it is: its Pods are refused, or do not run.
	ReasonResponderFailing = "ResponderFailing"
	// ReasonPageContentInvalid: the ConfigMap with the page's content does not
	// exist, does not carry the label, or is invalid.
	ReasonPageContentInvalid = "PageContentInvalid"
	// ReasonHeadlessUnsupported: clients of a headless Service dial the port of
	// the Pod itself, on which only a podTemplate fallback can listen.
	ReasonHeadlessUnsupported = "HeadlessUnsupported"
	// ReasonTemplateForbidden: the PodTemplate is in a namespace that is neither
	// the operator's nor the Service's, or a ServiceFallback names one whose Pods do
	// not meet Pod Security "restricted" or have a token.
	ReasonTemplateForbidden = "TemplateForbidden"
	// ReasonBackupNotFound: the backup Service does not exist.
	ReasonBackupNotFound = "BackupNotFound"
	// ReasonBackupNotReady: the backup Service has no ready endpoint of its own.
	ReasonBackupNotReady = "BackupNotReady"
	// ReasonBackupUnsuitable: the backup Service is the Service itself, has no
	// fitting port, or its endpoints are not Pods of its namespace.
	ReasonBackupUnsuitable = "BackupUnsuitable"
	// ReasonFamilyMissing: the Service is dual-stack, and the fallback has no address
	// of one of its IP families.
	ReasonFamilyMissing = "FamilyMissing"
	// ReasonPortUnanswered: the fallback answers on some TCP ports of the Service, and
	// not on all.
	ReasonPortUnanswered = "PortUnanswered"
	// ReasonSelectorOverlap: the Service would select the fallback Pod of another
	// Service as well, and that does not listen on its ports.
	ReasonSelectorOverlap = "SelectorOverlap"
	// ReasonSlicePending: the standby slice is about to be written.
	ReasonSlicePending = "SlicePending"
)
