package summary

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/internal/controller/condition"
	"github.com/critical-service/operator/internal/protection"
)

// Check is what the self-test of a Service's standby found.
type Check struct {
	// At is when it was done.
	At time.Time
	// Asked is how many pairs of an endpoint and a port there were to ask; 0 if none,
	// or nobody tests.
	Asked int
	// Problem says which port of which endpoint did not answer, how, and what to do.
	// It is empty if all did.
	Problem string
}

// checked sums up the self-tests of the Services that a CriticalService governs.
type checked struct {
	// silent says what is wrong with a standby, by Service, and hindered why there is
	// none that works; answering, waiting and untestable count those whose standby
	// answers, is yet to be asked, or cannot be.
	silent, hindered               []string
	answering, waiting, untestable int
}

func sumUp(policy *criticalv2.CriticalService, verdicts []Verdict) checked {
	var sum checked
	for i := range verdicts {
		verdict := &verdicts[i]
		switch check := verdict.Check; {
		case verdict.Plan.Governor == nil || verdict.Plan.Governor.Name != policy.Name || verdict.Plan.State == criticalv2.StateIgnored:
		case isOpen(verdict.Plan) && protection.NeedsAction(verdict.Plan.Reason):
			sum.hindered = append(sum.hindered, fmt.Sprintf("Service %s/%s has no fallback that works (%s): %s",
				verdict.Service.Namespace, verdict.Service.Name, verdict.Plan.Reason, verdict.Plan.Message))
		case check == nil:
			sum.waiting++
		case check.Problem != "":
			sum.silent = append(sum.silent, fmt.Sprintf("Service %s/%s: %s", verdict.Service.Namespace, verdict.Service.Name, check.Problem))
		case isOpen(verdict.Plan):
			sum.waiting++ // Its fallback is about to be there.
		case check.Asked == 0:
			sum.untestable++
		default:
			sum.answering++
		}
	}
	slices.Sort(sum.silent)
	slices.Sort(sum.hindered)
	return sum
}

// isOpen tells whether a Service has nothing that answers, or would answer, in its
// place.
func isOpen(plan decide.Plan) bool {
	return plan.State == criticalv2.StateArming || plan.State == criticalv2.StateExposed
}

// setFailoverReady says what the self-tests found, and which Service has nothing
// that could be tested because something hinders it. While a standby is yet to be
// asked, what was found before holds on, perhaps by an operator before this one.
func setFailoverReady(list condition.List, policy *criticalv2.CriticalService, verdicts []Verdict) {
	sum := sumUp(policy, verdicts)
	known := meta.FindStatusCondition(*list.Conditions, criticalv2.ConditionFailoverReady)
	switch {
	case len(sum.silent) > 0:
		list.Set(criticalv2.ConditionFailoverReady, false, criticalv2.ConditionReasonStandbySilent, sum.problems())
	case len(sum.hindered) > 0:
		list.Set(criticalv2.ConditionFailoverReady, false, criticalv2.ConditionReasonNotProtected, sum.problems())
	case sum.waiting > 0 && known != nil && known.ObservedGeneration == list.Generation:
	case sum.answering > 0 && sum.waiting == 0:
		list.Set(criticalv2.ConditionFailoverReady, true, criticalv2.ConditionReasonStandbyAnswers, sum.answers())
	default:
		list.SetUnknown(criticalv2.ConditionFailoverReady, criticalv2.ConditionReasonNotTested,
			"No standby was tested: the self-test is off or has just begun, or there is no standby before an outage.")
	}
}

// problems is the first problem in full, and how many Services more have one.
func (c *checked) problems() string {
	all := slices.Concat(c.silent, c.hindered)
	more := ""
	if others := len(all) - 1; others > 0 {
		more = fmt.Sprintf(" (and %d more)", others)
	}
	return shorten(all[0] + more)
}

func (c *checked) answers() string {
	text := "The standby of 1 Service answers."
	if c.answering > 1 {
		text = fmt.Sprintf("The standbys of %d Services answer.", c.answering)
	}
	switch {
	case c.untestable == 1:
		text += " 1 more has none that can be asked."
	case c.untestable > 1:
		text += fmt.Sprintf(" %d more have none that can be asked.", c.untestable)
	}
	return text
}
