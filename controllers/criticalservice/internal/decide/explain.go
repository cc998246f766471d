package decide

import (
	"slices"
	"time"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// rules is the whole list: the first rule that applies says how the Service stands.
// Remarks about a maintenance follow whatever it is.
var rules = slices.Concat(
	exclusions,
	obstacles,
	within((*decision).podRuns, podRules),
	within((*decision).podOnDemand, onDemandRules),
	standbyRules,
)

// explain is the only writer of state, reason and message. changesIn is when it would
// say something else though nothing is reported.
func explain(d *decision) (said standing, changesIn time.Duration) {
	r := first(rules, d)
	said = standing{state: r.state(d), reason: r.reason, message: r.message(d), provisional: r.provisional}
	if r.reasonOf != nil {
		said.reason = r.reasonOf(d)
	}
	for _, besides := range r.besides {
		said = besides(d, said)
	}
	var next recheck
	if r.changesIn != nil {
		next.in(r.changesIn(d))
	}
	if said.state == criticalv2.StateIgnored {
		return said, next.after
	}
	next.in(maintenancesChangeIn(d.Maintenances, d.Now))
	for _, about := range maintenanceRemarks {
		said = about(d, said)
	}
	return said, next.after
}
