// Package decide computes a Plan from a Snapshot of one Service. It is pure: no
// client, no clock, no log, no error. Time is a value of the Snapshot, and what must
// be remembered is in the objects of the Snapshot.
//
// It works in stages of values, each in a file that knows only those before it:
//
//	plan.go, snapshot.go, needs.go            the Plan; what was read, and what else is to be read
//	health.go, published.go, maintenance.go   how a Pod is; what is published; what is announced
//	facts.go, promotion.go                    what follows from the Snapshot; promoted or not
//	target.go, page.go, pod.go, backup.go     what can answer now, by source
//	choice.go                                 which fallback the Service gets
//	slices.go, pods.go                        the changes
//	stages.go, rules.go                       what the stages found; what a rule is
//	states_*.go, explain.go                   the list of rules: state, reason and message
//	decide.go                                 the stages, one after the other
//
// Its laws, each a test:
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
