// Package criticalservice keeps critical Services answering.
//
// # Terms
//
// A CriticalService matches Services by their labels; the first one by name
// governs a Service that several match. An endpoint is the Service's own unless
// it is a fallback Pod of ours. A Service without a ready endpoint of its own is
// in outage. The fallback is the Pod that the operator makes from the
// PodTemplate; it joins the Service by carrying the Service's selector.
//
// # Who wakes whom
//
//	Service ─────────────┐
//	EndpointSlice ───────┤
//	Pod (fallbacks only) ┼──▶ service controller ──▶ fallback Pod
//	CriticalService ─────┤    key: the Service       event on the Service
//	PodTemplate ─────────┘          │
//	                                │ "something about a Service you match"
//	CriticalService ─────┐          ▼
//	Service (labels) ────┴──▶ status controller ───▶ CriticalService.status
//	                          key: the CriticalService
//
// The work key of the controller that protects is the Service, so CriticalServices
// that overlap cannot race. Both controllers do the same four things:
//
//	observe   read everything that matters into a Snapshot
//	decide    turn the Snapshot into a Plan (pure, internal/decide)
//	apply     write what the Plan says
//	report    tell people: events, status
//
// # What is remembered, and where
//
// Nothing is remembered that is not in the API: whether a Pod is a fallback
// stands in its owner reference, whether it is up to date in its annotations,
// how long a state has lasted in the status. Only the API server's last answer
// to a create is kept in memory (attempts.go), because it can be asked again.
package criticalservice
