// Package criticalservice keeps critical Services answering.
//
// # Terms
//
// A CriticalService matches Services by their labels; the first one by name
// governs a Service that several match. An endpoint is the Service's own unless
// the operator published it, or it is a fallback Pod of ours. A Service without a
// ready endpoint of its own is in outage.
//
// The fallback is what answers then: the page of the namespace's responder, a Pod
// made from a PodTemplate, or a backup Service. The operator publishes it in a
// standby slice, an EndpointSlice of its own, ahead of time: proxies turn to it by
// themselves in the instant of the outage. On top of that it promotes the slice
// (its endpoints become ready ones) for those who know ready endpoints only, and
// demotes it after the recovery. Only a fallback Pod that is published by selector
// labels, as version 1 has it, joins the Service without a slice.
//
// # Who wakes whom
//
//	Service ─────────────────────┐
//	EndpointSlice ───────────────┤
//	Pod (fallbacks, responders) ─┤
//	CriticalService ─────────────┼──▶ service controller ──▶ standby EndpointSlice
//	PodTemplate, Namespace ──────┤    key: the Service       fallback Pod
//	ConfigMap, Deployment ───────┘          │                event on the Service
//	(the responder's)                       │
//	                                        │ "something about a Service you match"
//	CriticalService ─────┐                  ▼
//	Service (labels) ────┴──────────▶ status controller ───▶ CriticalService.status
//	                                  key: the CriticalService
//
// The work key of the controller that protects is the Service, so CriticalServices
// that overlap cannot race. Both controllers do the same four things:
//
//	observe   read everything that matters into a Snapshot
//	decide    turn the Snapshot into a Plan (pure, internal/decide)
//	apply     write what the Plan says: publish.go adds, withdraw.go takes away
//	report    events, and the status (pure, internal/summary)
//
// A third controller, the self-test, asks the standby of each Service for an answer
// as long as nobody needs it (selftest.go). Its key is the Service, too, a standby
// slice that changes wakes it, and it changes nothing: the status says what it found.
//
// A fourth controller looks for the cause of each outage while it lasts (cause.go,
// cause_controller.go). Its key is the Service; the service controller wakes it when
// an outage begins, and after that it wakes itself, more and more seldom. It reads
// what it needs straight from the API server, and writes events only.
//
// The responder itself is another kind (controllers/responder). The two talk
// through API objects: a standby slice of a page asks for a responder, and the
// responder's ConfigMap and Pods say on which ports it answers for whom.
//
// # What is remembered, and where
//
// Nothing is remembered that is not in the API: whether a Pod is a fallback
// stands in its owner reference, whether it is up to date in its annotations,
// whether a standby is promoted in its slice, when a delay began in an annotation
// there, how long a state has lasted in the status. Only answers are kept in memory
// (answers.go): of the API server to a create, of a standby to the self-test, and
// what explains an outage. They can be asked for again.
package criticalservice
