// Package maintenance ends what was announced: a maintenance that has an end.
//
// # Terms
//
// A maintenance is a ConfigMap with the label mycrd.com/responder: maintenance, in
// the namespace of the Service that it is about (api/v2, Maintenance). A user
// announced it, with the kubectl plugin or with a file in Git. While it lasts, the
// controller of Services publishes the page for it; that is not the task of this
// kind. The user may have scaled the application to zero, and then the ConfigMap says
// which workload gets how many replicas back.
//
// # Who wakes whom
//
//	ConfigMap (maintenance) ──┐                          scale of the workload
//	EndpointSlice ────────────┼──▶ maintenance ────────▶ ConfigMap (maintenance)
//	the clock (until) ────────┘    controller            event on the Service,
//	                               key: the ConfigMap    or on the ConfigMap
//
// The four verbs are those of every kind:
//
//	observe   read everything that matters into a Snapshot
//	decide    turn the Snapshot into a Plan (pure, internal/decide)
//	apply     write what the Plan says: first what gives back, then what deletes
//	report    events, logs
//
// # With whose permission
//
// The operator may neither scale workloads nor delete ConfigMaps. A user who announces
// a maintenance with an end grants both, for exactly that workload and that ConfigMap,
// by a Role that goes with the ConfigMap. Where there is no such Role the operator
// reports it, once, and retries every minute.
//
// # State
//
// All of it is in the ConfigMap: when the maintenance ends, and what is owed to the
// workload, which is removed once it has been given back. Only what was reported
// already is kept in memory, because a second report does no harm.
package maintenance
