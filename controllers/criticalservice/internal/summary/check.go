package summary

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/appprotocol"
	"github.com/critical-service/operator/internal/controller/condition"
	"github.com/critical-service/operator/internal/protection"
)

// Check is what the self-test of a Service's standby found.
type Check struct {
	// Asked is how many pairs of an endpoint and a port there were to ask; 0 if there were
	// none, or the self-test is off.
	Asked int
	// Silence is what did not answer; nil if everything did.
	Silence *Silence
}

// Silence is the first port of a standby that did not answer.
type Silence struct {
	// Pod and Address are of the endpoint. Stray is true where no Pod has the address.
	Pod, Address string
	Stray        bool
	// Port is the number of the Service's port, PortName its name, and Protocol that in
	// which it was asked.
	Port     int32
	PortName string
	Protocol appprotocol.Protocol
	// Failure is the kind of failure; see package probe.
	Failure string
	// More is how many others did not answer.
	More int
	// Message explains all this to a person, with what the server answered and what to do.
	Message string
}

// Same reports whether two checks found the same, however a server worded its answer.
func (c *Check) Same(other *Check) bool {
	if c.Silence == nil || other.Silence == nil {
		return c.Silence == other.Silence && (c.Asked == 0) == (other.Asked == 0)
	}
	a, b := *c.Silence, *other.Silence
	a.Message, b.Message = "", ""
	return a == b
}

// result is what is known of the failover of a Service.
type result int

const (
	// ungoverned: it is Ignored, or another policy governs it.
	ungoverned result = iota
	// answers: its standby answered on every port.
	answers
	// silent: its standby did not.
	silent
	// blocked: it has no fallback that works, and a person has to act.
	blocked
	// pending: its standby is yet to be published or tested.
	pending
	// untestable: it has no standby before an outage, or the self-test is off.
	untestable
)

func resultOf(policy criticalv2.Policy, verdict *Verdict) result {
	check := verdict.Check
	open := isOpen(verdict.State)
	switch {
	case !verdict.IsGovernedBy(KeyOf(policy)) || verdict.State == criticalv2.StateIgnored:
		return ungoverned
	case open && protection.NeedsAction(verdict.Reason):
		return blocked
	case check == nil:
		return pending
	case check.Silence != nil:
		return silent
	case open:
		return pending
	case check.Asked == 0:
		return untestable
	default:
		return answers
	}
}

// failoverOf is what the status says of the failover of one Service. While a standby is
// yet to be tested, what was found before holds, perhaps by an operator before this one.
func failoverOf(policy criticalv2.Policy, verdict *Verdict, was *criticalv2.Failover) *criticalv2.Failover {
	switch resultOf(policy, verdict) {
	case answers:
		return &criticalv2.Failover{Status: metav1.ConditionTrue, Reason: criticalv2.ConditionReasonStandbyAnswers,
			Message: "The standby answers on every port."}
	case silent:
		return &criticalv2.Failover{Status: metav1.ConditionFalse, Reason: criticalv2.ConditionReasonStandbySilent,
			Message: shorten(verdict.Check.Silence.Message), Port: verdict.Check.Silence.Port}
	case blocked:
		return &criticalv2.Failover{Status: metav1.ConditionFalse, Reason: criticalv2.ConditionReasonNotProtected,
			Message: fmt.Sprintf("No fallback works: %s.", verdict.Reason)}
	case pending:
		if was != nil && policy.Observed().ObservedGeneration == policy.GetGeneration() {
			return was
		}
		return &criticalv2.Failover{Status: metav1.ConditionUnknown, Reason: criticalv2.ConditionReasonNotTested,
			Message: "The standby is not tested yet."}
	case untestable:
		return &criticalv2.Failover{Status: metav1.ConditionUnknown, Reason: criticalv2.ConditionReasonNotTested,
			Message: "Nothing was tested: the self-test is off, or there is no standby before an outage."}
	default:
		return nil
	}
}

// failovers counts the Services that a policy governs by result.
type failovers struct {
	count map[result]int
	// silent and blocked say what is wrong, a sentence for each Service.
	silent, blocked []string
}

func sumUp(policy criticalv2.Policy, verdicts []Verdict) failovers {
	sum := failovers{count: map[result]int{}}
	for i := range verdicts {
		verdict := &verdicts[i]
		service := verdict.Service.String()
		found := resultOf(policy, verdict)
		sum.count[found]++
		switch found {
		case silent:
			sum.silent = append(sum.silent, fmt.Sprintf("Service %s: %s", service, verdict.Check.Silence.Message))
		case blocked:
			sum.blocked = append(sum.blocked, fmt.Sprintf("Service %s has no fallback that works (%s): %s", service, verdict.Reason, verdict.Message))
		default: // It is counted only.
		}
	}
	slices.Sort(sum.silent)
	slices.Sort(sum.blocked)
	return sum
}

// setFailoverReady sums up the self-tests, and the problems for which a Service has
// nothing that could be tested. While a standby is yet to be tested, the condition stays.
func setFailoverReady(list condition.List, policy criticalv2.Policy, verdicts []Verdict) {
	sum := sumUp(policy, verdicts)
	known := meta.FindStatusCondition(*list.Conditions, criticalv2.ConditionFailoverReady)
	switch {
	case len(sum.silent) > 0:
		list.Set(criticalv2.ConditionFailoverReady, false, criticalv2.ConditionReasonStandbySilent, sum.problems())
	case len(sum.blocked) > 0:
		list.Set(criticalv2.ConditionFailoverReady, false, criticalv2.ConditionReasonNotProtected, sum.problems())
	case sum.count[pending] > 0 && known != nil && known.ObservedGeneration == list.Generation:
	case sum.count[answers] > 0 && sum.count[pending] == 0:
		list.Set(criticalv2.ConditionFailoverReady, true, criticalv2.ConditionReasonStandbyAnswers, sum.answers())
	default:
		list.SetUnknown(criticalv2.ConditionFailoverReady, criticalv2.ConditionReasonNotTested,
			"No standby was tested: the self-test is off or has just begun, or there is no standby before an outage.")
	}
}

// problems is the first problem in full, and how many Services more have one.
func (f *failovers) problems() string {
	all := slices.Concat(f.silent, f.blocked)
	more := ""
	if others := len(all) - 1; others > 0 {
		more = fmt.Sprintf(" (and %d more)", others)
	}
	return shorten(all[0] + more)
}

func (f *failovers) answers() string {
	text := "The standby of 1 Service answers."
	if count := f.count[answers]; count > 1 {
		text = fmt.Sprintf("The standbys of %d Services answer.", count)
	}
	switch count := f.count[untestable]; {
	case count == 1:
		text += " 1 more has none that can be asked."
	case count > 1:
		text += fmt.Sprintf(" %d more have none that can be asked.", count)
	}
	return text
}
