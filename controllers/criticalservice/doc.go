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
//	CriticalService ─────────────┼──▶ service controller ──▶ standby EndpointSlice,
//	PodTemplate, Namespace ──────┤    (protect)              event on the Service
//	ConfigMap, Deployment ───────┘    │ │   ▲ │
//	(the responder's)        what is  │ │   │ │
//	                         missing  ▼ │   │ │
//	              (protect: standby) ───│───┤ │ ─────────▶ standby EndpointSlice that is new
//	                           what may │   │ │
//	                           be slow  ▼   │ │ what was learnt
//	                          (provision) ──┘ │ ─────────▶ fallback Pod, what goes
//	                                        │ "what your status says of a Service has changed"
//	                                        ▼
//	CriticalService ────────────────▶ status controller ───▶ CriticalService.status
//	                                  key: the CriticalService
//
// # The rooms
//
// These controllers work on this kind, each in a package of its own:
//
//	protect     key: the Service. Publishes, promotes and demotes its standby: one
//	            controller changes the slices that exist, another makes new ones
//	provision   key: the Service. Makes, dry-runs and withdraws: all that may be slow
//	status      key: the CriticalService. Writes its status, and nothing else
//	selftest    key: the Service. Asks its standby for an answer before it is needed
//	cause       key: the Service. Looks for the cause of its outage, while it lasts
//	reading     key: the ConfigMap with the content of a page, or the PodTemplate. Reads
//	            what CriticalServices name, once for each version
//
// The key of the controller that protects is the Service, so CriticalServices that
// overlap cannot race. All do the same four things:
//
//	observe     read everything that matters into a Snapshot (internal/observe)
//	decide      turn the Snapshot into a Plan (internal/decide, pure)
//	apply       write what the Plan says
//	report      events, logs and metrics
//
// The controller that protects also stores what it decided about each Service, and wakes
// the status if that has changed. The status controller only sums up what is stored:
// internal/summary makes a status of it (pure).
//
// What they share is below internal/: which event wakes which key (wake), what a
// fallback Pod and a standby slice look like (render, pure), and what is remembered
// (memory). The metrics have a room, too: counters of what happens, and gauges of what
// was decided last. The stories are the tests of all of it together, against
// a real API server.
//
// The self-test is woken by standby slices that change. The search for a cause is woken
// by the controller that protects when an outage begins, and after that it wakes itself
// at growing intervals; it reads what it needs straight from the API server.
//
// Of content and PodTemplates, caches hold the metadata only. The controller that
// protects asks the two that read for what it lacks, and is woken when what was read says
// something else than before.
//
// The responder itself is another kind (controllers/responder). The two communicate
// through API objects: a standby slice of a page asks for a responder, and the
// responder's ConfigMap and Pods say on which ports it answers for which Service.
//
// # What is remembered, and where
//
// What must not be lost is in the API: whether a Pod is a fallback is in its owner
// reference, whether it is up to date in its annotations, whether a standby is promoted
// in its slice, when a delay began in an annotation there, how long a state has lasted
// in the status. Only answers are kept in memory: of the API server to a create, of a
// standby to the self-test, what explains an outage, what is wrong with content, and
// what a PodTemplate says; and what was decided last of each Service. They can be asked
// for, and it can be decided, again; internal/memory lists them all.
package criticalservice
