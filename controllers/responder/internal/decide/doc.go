// Package decide computes a Plan from a Snapshot. It is pure.
//
// It reads no API, writes nothing, logs nothing, knows no clock and cannot fail;
// the same Snapshot, in whatever order its lists are, gives the same Plan.
//
// decide.go has the order of the decisions, table.go which port stands in for which
// port of a Service, range.go on
// which ports it listens, pages.go what the slices ask for, rollout.go
// when a new version comes, nudge.go when denied Pods are tried again, and gates.go which Pods
// count as ready.
package decide
