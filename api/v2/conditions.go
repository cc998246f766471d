package v2

// Conditions of a CriticalService and a ServiceFallback. Each lists its reasons per status
// value.
const (
	// ConditionReady is True while every matched Service that can be protected
	// has its fallback prepared or answering.
	//
	//	True:  Protected, NoServices
	//	False: NotProtected, NamespaceNotWatched, SelectorInvalid, TooMany
	ConditionReady = "Ready"

	// ConditionFallbackReady is False while a problem blocks the fallback of a
	// matched Service, before or during an outage. The message names the problem,
	// the Service, and what to do.
	//
	//	True:  FallbackPrepared
	//	False: PodsForbidden, TemplateNotFound, TemplateForbidden, ResponderFailing,
	//	       CreateDenied, NameTaken, BackupNotFound, BackupUnsuitable,
	//	       BackupNotReady, HeadlessUnsupported, FamilyMissing, SelectorOverlap,
	//	       PortMismatch, PortUnanswered, FallbackFailing, PageContentInvalid
	ConditionFallbackReady = "FallbackReady"

	// ConditionFailoverReady is True while every standby answered the operator's
	// last self-test, in the protocol of its port, and no Service is Arming or
	// Exposed because of a problem. The message names the first Service and port
	// that did not answer, or the Service and its problem; status.details has the
	// result of each Service.
	//
	//	True:    StandbyAnswers
	//	False:   StandbySilent, NotProtected
	//	Unknown: NotTested
	ConditionFailoverReady = "FailoverReady"

	// ConditionOutage is True while a matched Service has no ready endpoint of
	// its own.
	//
	//	True:  Exposed, Covered
	//	False: NoOutage
	ConditionOutage = "Outage"

	// ConditionOverridden is True while another CriticalService or ServiceFallback
	// governs a Service that this object matches.
	//
	//	True:  Precedence, FirstByName
	//	False: NotOverridden
	ConditionOverridden = "Overridden"
)

// ConditionStalled is True while Ready is False and no waiting makes it True: a person has
// to change the object, something that it names, or a setting. Of a Maintenance it is True
// while no waiting lets it begin, or restore what it owes. The reason is that of the
// problem. It is there only while it is True, as kstatus has it, by which Flux, Helm and
// others judge objects: they report a failure, and do not wait until their time is up.
//
//	True: SelectorInvalid, TooMany, NamespaceNotWatched, PodsForbidden,
//	      TemplateNotFound, TemplateForbidden, NameTaken, BackupNotFound,
//	      BackupUnsuitable, HeadlessUnsupported, FamilyMissing, SelectorOverlap,
//	      PortMismatch
//	True, of a Maintenance: ScheduleInvalid, NotPermitted, RestoreFailed
const ConditionStalled = "Stalled"

// Reasons of ConditionReady.
const (
	// ConditionReasonProtected: every Service that can be protected is.
	ConditionReasonProtected = "Protected"
	// ConditionReasonNoServices: no Service matches, or all that match are
	// Ignored, so that there is nothing to do.
	ConditionReasonNoServices = "NoServices"
	// ConditionReasonNotProtected: at least one Service is Arming or Exposed.
	ConditionReasonNotProtected = "NotProtected"
	// ConditionReasonSelectorInvalid: a selector of the spec cannot be read, so that
	// it matches nothing: the schema cannot check the characters of a label.
	ConditionReasonSelectorInvalid = "SelectorInvalid"
	// ConditionReasonTooMany: the namespace has more ServiceFallbacks than count (100),
	// and this one is among the youngest.
	ConditionReasonTooMany = "TooMany"
	// ConditionReasonTurnedOff: the operator follows no ServiceFallbacks (its setting
	// TENANTS is false), and withdrew what this one had.
	ConditionReasonTurnedOff = "TurnedOff"
	// ConditionReasonNamespaceNotWatched: one of spec.namespaces is not among the
	// namespaces that the operator is configured to watch.
	ConditionReasonNamespaceNotWatched = "NamespaceNotWatched"
)

// Reasons of the other conditions that are not also reasons of a state.
const (
	// ConditionReasonFallbackPrepared: all fallbacks are ready.
	ConditionReasonFallbackPrepared = "FallbackPrepared"
	// ConditionReasonStandbyAnswers: every standby that can be tested answered.
	ConditionReasonStandbyAnswers = "StandbyAnswers"
	// ConditionReasonStandbySilent: a standby did not answer as it should.
	ConditionReasonStandbySilent = "StandbySilent"
	// ConditionReasonNotTested: no standby was tested: the self-test is off or has
	// just begun, or the fallback is made in an outage only.
	ConditionReasonNotTested = "NotTested"
	// ConditionReasonExposed: at least one Service is in outage and unanswered.
	ConditionReasonExposed = "Exposed"
	// ConditionReasonCovered: every Service in outage is answered by its fallback.
	ConditionReasonCovered = "Covered"
	// ConditionReasonNoOutage: every protected Service answers by itself.
	ConditionReasonNoOutage = "NoOutage"
	// ConditionReasonPrecedence: another object has precedence: an enforced
	// CriticalService, or a ServiceFallback of the Service's namespace.
	ConditionReasonPrecedence = "Precedence"
	// ConditionReasonFirstByName: another object of the same precedence comes first.
	ConditionReasonFirstByName = "FirstByName"
	// ConditionReasonNotOverridden: this object governs all it matches.
	ConditionReasonNotOverridden = "NotOverridden"
)
