// Package fault chooses the faults of a soak: which happens when, and to which Service, follows from a seed. It also
// finds out which of those that happened explains a request that failed. Pure.
//
//	kind.go      the kinds, and how often each may happen
//	schedule.go  the faults of a run
//	history.go   those that happened
package fault

import "time"

// Kind is what happens. It is written into the report.
type Kind string

// The kinds. Those that last are ended by another one.
const (
	ScaleDown        Kind = "scale the workload to zero"
	ScaleUp          Kind = "scale the workload up"
	DeletePods       Kind = "delete the Pods by force"
	DeleteSlices     Kind = "delete the standby slices"
	AlterSlices      Kind = "alter the standby slices"
	EditPolicy       Kind = "edit the policy"
	DeletePolicy     Kind = "delete the policy"
	RecreatePolicy   Kind = "recreate the policy"
	OptOut           Kind = "opt the Service out"
	OptIn            Kind = "opt the Service in"
	BeginMaintenance Kind = "begin a maintenance"
	EndMaintenance   Kind = "end the maintenance"
	DeleteResponder  Kind = "delete a Pod of the responder"
	KillOperator     Kind = "kill a Pod of the operator"
	Drain            Kind = "drain a node"
	Uncordon         Kind = "uncordon the node"
	// None is what a request that failed is counted under when no fault explains it.
	None Kind = "no fault"
)

// rule is when a kind may happen.
type rule struct {
	kind Kind
	// end is the kind that ends it; empty for what does not last.
	end Kind
	// most is how many Services may be under it at once, where it lasts; of what concerns all, how often it may last at once.
	most int
	// pause is how long after one of these the next may follow.
	pause time.Duration
	// all: it does not happen to one Service, but concerns all.
	all bool
	// early: it happens in the first half only, so that the processes that are measured in the end have lived as long as
	// the second half.
	early bool
	// not are kinds under which the Service may not be: it would have no effect.
	not []Kind
}

// rules has all kinds but those that end another.
//
// Without protection are two Services at most, and so the others go on to be looked at. The pauses let the operator and
// the responder, which have two replicas, have one at any time.
var rules = []rule{
	{kind: ScaleDown, end: ScaleUp, most: 4},
	{kind: DeletePods, not: []Kind{ScaleDown}},
	{kind: DeleteSlices, not: []Kind{DeletePolicy, OptOut}},
	{kind: AlterSlices, not: []Kind{DeletePolicy, OptOut}},
	{kind: EditPolicy, not: []Kind{DeletePolicy}},
	{kind: DeletePolicy, end: RecreatePolicy, most: 1},
	{kind: OptOut, end: OptIn, most: 1},
	{kind: BeginMaintenance, end: EndMaintenance, most: 2},
	{kind: DeleteResponder, all: true, pause: 20 * time.Second},
	{kind: KillOperator, all: true, pause: 30 * time.Second, early: true},
	{kind: Drain, end: Uncordon, most: 1, all: true, pause: time.Minute, early: true},
}

// Kinds are all kinds, each after the one that it ends.
func Kinds() []Kind {
	var kinds []Kind
	for _, rule := range rules {
		kinds = append(kinds, rule.kind)
		if rule.end != "" {
			kinds = append(kinds, rule.end)
		}
	}
	return kinds
}
