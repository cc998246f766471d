// Package maintenance follows Maintenances: when their windows begin and end, and what
// they owe to a workload.
//
// # Terms
//
// A Maintenance (api/v2) announces that Services of its namespace are away on purpose.
// While it does, the controller of Services publishes the page for it; that is not the
// task of this kind. A user may scale the application to zero for it. The Maintenance then
// says which workload that is, and the operator records what it has before it is taken.
//
// # Who wakes whom
//
//	Maintenance ──────────────┐                          scale of the workload
//	EndpointSlice ────────────┼──▶ maintenance ────────▶ Maintenance (status, finalizer)
//	the clock (windows) ──────┘    controller            event on the Maintenance
//	                               key: the Maintenance
//
// The four verbs are those of every kind:
//
//	observe   read everything that matters into a Snapshot
//	decide    turn the Snapshot into a Plan (pure, internal/decide)
//	apply     write what the Plan says: first what gives back, then what says so
//	report    events, logs
//
// # With whose permission
//
// The operator may not scale workloads. A user who wants a workload back grants just that,
// by a Role for exactly one Maintenance (the verb restore) and one scale (get and patch).
// The operator asks the API server for both before it uses either, so that the permission
// of one Maintenance is not that of another which names the same workload.
//
// # State
//
// All of it is in the status, which only the operator writes: when the running window
// ends, what is owed, and what was restored. A finalizer keeps a Maintenance that is
// deleted while it owes something.
package maintenance
