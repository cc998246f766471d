// Package decide turns what was observed of one Service into a plan.
//
// It is pure: no client, no clock, no log, no error. Time is a value of the
// Snapshot, and what must be remembered is in the objects of the Snapshot. Its
// laws, each a test:
//
//   - the Snapshot is not changed;
//   - the order of the Snapshot's lists does not matter;
//   - in a world that stands still, the plan after a plan is empty;
//   - a fallback is not withdrawn while the Service has no ready endpoint of
//     its own, unless the Service or its CriticalService is gone;
//   - there is at most one fallback per Service;
//   - where no CriticalService matches, nothing of ours remains;
//   - an endpoint of ours is never counted as the Service's own.
package decide
