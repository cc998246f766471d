package summary

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/condition"
	"github.com/critical-service/operator/internal/protection"
	"github.com/critical-service/operator/internal/text"
)

// Verdict is what was decided about one Service that a policy matches, and
// what is known of it beside that.
type Verdict struct {
	Judgement
	// Cause is what explains the outage; nil if it has not been diagnosed yet.
	Cause *criticalv2.OutageCause
	// Check is the last self-test of the standby: nil if it is yet to be tested, and empty
	// where the self-test is off or there is no standby.
	Check *Check
}

// cause is why the Service is down, as far as that is known: an outage that is planned
// needs no other explanation.
func (v *Verdict) cause() *criticalv2.OutageCause {
	if v.Planned != nil {
		return v.Planned
	}
	return v.Cause
}

// Scope is what keeps the operator from looking at what a policy means.
type Scope struct {
	// Unwatched are the namespaces of the spec that the operator does not look at.
	Unwatched []string
	// Surplus is true of a ServiceFallback that does not count, because there are too many
	// in its namespace.
	Surplus bool
	// TurnedOff is true of a ServiceFallback where the operator does not follow the kind.
	TurnedOff bool
}

// Summarize makes the status of a policy from its Services. The old
// status matters only for when a state began, and while a Judgement is provisional.
func Summarize(policy criticalv2.Policy, verdicts []Verdict, scope Scope, now time.Time) criticalv2.ProtectionStatus {
	known := map[types.NamespacedName]*criticalv2.ServiceStatus{}
	last := policy.Observed()
	for i := range last.Details {
		detail := &last.Details[i]
		known[types.NamespacedName{Namespace: detail.Namespace, Name: detail.Name}] = detail
	}
	details := make([]criticalv2.ServiceStatus, 0, len(verdicts))
	for i := range verdicts {
		details = append(details, detailOf(policy, &verdicts[i], known[verdicts[i].Service], now))
	}

	status := criticalv2.ProtectionStatus{
		ObservedGeneration: policy.GetGeneration(),
		Conditions:         slices.Clone(last.Conditions),
		Services:           count(details),
	}
	list := condition.List{Conditions: &status.Conditions, Generation: policy.GetGeneration(), Now: metav1.NewTime(now)}
	setReady(list, policy, status.Services, scope)
	setFallbackReady(list, details)
	setFailoverReady(list, policy, verdicts)
	setOutage(list, details)
	setOverridden(list, policy, details, verdicts)
	setStalled(list, details)
	status.Details = capped(details)
	status.Outages = recordOutages(policy, details, verdicts, now)
	return status
}

// detailOf is what the status of a policy says of one Service, of which it said
// something before, or nothing (nil).
func detailOf(policy criticalv2.Policy, verdict *Verdict, was *criticalv2.ServiceStatus, now time.Time) criticalv2.ServiceStatus {
	detail := criticalv2.ServiceStatus{
		Namespace: verdict.Service.Namespace, Name: verdict.Service.Name,
		State: verdict.State, Reason: verdict.Reason, Message: verdict.Message,
		Since: metav1.NewTime(now),
	}
	if !verdict.IsGovernedBy(KeyOf(policy)) {
		override(&detail, verdict, protection.TierOf(policy, verdict.Service.Name))
	}
	if inOutage(detail) {
		detail.Cause = verdict.cause()
	}
	if was == nil {
		detail.Failover = failoverOf(policy, verdict, nil)
		return detail
	}
	detail.Failover = failoverOf(policy, verdict, was.Failover)
	if verdict.IsHeld(was) && detail.Reason != criticalv2.ReasonOverridden {
		held := *was
		held.Failover = detail.Failover
		return held
	}
	if was.State == detail.State {
		detail.Since = was.Since
	}
	if inOutage(detail) && detail.Cause == nil {
		detail.Cause = was.Cause // It is about to be diagnosed again.
	}
	return detail
}

// override says of a Service that another policy governs it, which has precedence over one
// of a tier.
func override(detail *criticalv2.ServiceStatus, verdict *Verdict, tier protection.Tier) {
	winner := verdict.Matching[0]
	why := precedence[verdict.Tier]
	if verdict.Tier == tier {
		why = "it comes first by name"
	}
	detail.State, detail.Reason = criticalv2.StateIgnored, criticalv2.ReasonOverridden
	detail.Message = fmt.Sprintf("%s %q governs this Service: %s.", winner.Kind, winner.Key.Name, why)
	detail.OverriddenBy = &criticalv2.PolicyReference{Kind: winner.Kind, Name: winner.Key.Name}
}

// precedence is why a policy of a tier comes before those of later tiers.
var precedence = map[protection.Tier]string{
	protection.TierEnforced: "its precedence is Enforced",
	protection.TierNamed:    "it is of this namespace and names the Service",
	protection.TierSelected: "it is of this namespace and selects the Service",
}

// inOutage reports whether a Service has no ready endpoint of its own.
func inOutage(detail criticalv2.ServiceStatus) bool { return isOutage(detail.State) }

func isOutage(state criticalv2.ServiceState) bool {
	return state == criticalv2.StateExposed || state == criticalv2.StateCovered
}

func count(details []criticalv2.ServiceStatus) criticalv2.ServiceCounts {
	counts := criticalv2.ServiceCounts{Total: int32(min(len(details), 1<<31-1))}
	for _, detail := range details {
		switch detail.State {
		case criticalv2.StateIgnored:
			counts.Ignored++
		case criticalv2.StateArming:
			counts.Arming++
		case criticalv2.StateArmed:
			counts.Armed++
		case criticalv2.StateExposed:
			counts.Exposed++
		case criticalv2.StateCovered:
			counts.Covered++
		}
	}
	return counts
}

func setReady(list condition.List, policy criticalv2.Policy, counts criticalv2.ServiceCounts, scope Scope) {
	able := counts.Total - counts.Ignored
	open := counts.Arming + counts.Exposed
	switch {
	case policy.SelectorProblem() != nil:
		list.Set(criticalv2.ConditionReady, false, criticalv2.ConditionReasonSelectorInvalid,
			shorten(fmt.Sprintf("A selector of the spec matches nothing, because it is not valid: %v.", policy.SelectorProblem())))
	case scope.TurnedOff:
		list.Set(criticalv2.ConditionReady, false, criticalv2.ConditionReasonTurnedOff,
			"The operator follows no ServiceFallbacks: its setting TENANTS is false. Ask an administrator to turn it on, or to protect the Service with a CriticalService.")
	case scope.Surplus:
		list.Set(criticalv2.ConditionReady, false, criticalv2.ConditionReasonTooMany, fmt.Sprintf(
			"The namespace has more than %d ServiceFallbacks, of which the oldest count: put Services into one of those, by name or by label, or delete some.", protection.MaxFallbacks))
	case len(scope.Unwatched) > 0:
		list.Set(criticalv2.ConditionReady, false, criticalv2.ConditionReasonNamespaceNotWatched,
			fmt.Sprintf("The operator does not look at namespace %q: add it to NAMESPACES, or name another in the spec.", strings.Join(scope.Unwatched, ", ")))
	case counts.Total == 0:
		list.Set(criticalv2.ConditionReady, true, criticalv2.ConditionReasonNoServices, "No Service is selected.")
	case able == 0:
		list.Set(criticalv2.ConditionReady, true, criticalv2.ConditionReasonNoServices,
			fmt.Sprintf("None of the %d Services that match is to be protected by this object; status.details says why.", counts.Total))
	case open > 0:
		list.Set(criticalv2.ConditionReady, false, criticalv2.ConditionReasonNotProtected,
			fmt.Sprintf("%d of %d Services are not protected: %d arming, %d exposed.", open, able, counts.Arming, counts.Exposed))
	default:
		list.Set(criticalv2.ConditionReady, true, criticalv2.ConditionReasonProtected,
			fmt.Sprintf("%d of %d Services are protected: %d armed, %d covered.", able, able, counts.Armed, counts.Covered))
	}
}

func setFallbackReady(list condition.List, details []criticalv2.ServiceStatus) {
	for _, reason := range protection.ReasonsToAct {
		if texts := describe(details, func(d criticalv2.ServiceStatus) bool { return d.Reason == reason }); texts != "" {
			list.Set(criticalv2.ConditionFallbackReady, false, reason, texts)
			return
		}
	}
	list.Set(criticalv2.ConditionFallbackReady, true, criticalv2.ConditionReasonFallbackPrepared, "All fallbacks are ready.")
}

func setOutage(list condition.List, details []criticalv2.ServiceStatus) {
	exposed := func(d criticalv2.ServiceStatus) bool { return d.State == criticalv2.StateExposed }
	covered := func(d criticalv2.ServiceStatus) bool { return d.State == criticalv2.StateCovered }
	if texts := describe(details, exposed); texts != "" {
		list.Set(criticalv2.ConditionOutage, true, criticalv2.ConditionReasonExposed, shorten("Nothing answers. "+texts))
	} else if texts := describe(details, covered); texts != "" {
		list.Set(criticalv2.ConditionOutage, true, criticalv2.ConditionReasonCovered, texts)
	} else {
		list.Set(criticalv2.ConditionOutage, false, criticalv2.ConditionReasonNoOutage, "No protected Service is in outage.")
	}
}

func setOverridden(list condition.List, policy criticalv2.Policy, details []criticalv2.ServiceStatus, verdicts []Verdict) {
	overridden := func(d criticalv2.ServiceStatus) bool { return d.OverriddenBy != nil }
	texts := describe(details, overridden)
	if texts == "" {
		list.Set(criticalv2.ConditionOverridden, false, criticalv2.ConditionReasonNotOverridden,
			"No other object governs a Service that this one matches.")
		return
	}
	reason := criticalv2.ConditionReasonFirstByName
	for i := range verdicts {
		if verdicts[i].Tier != protection.TierOf(policy, verdicts[i].Service.Name) {
			reason = criticalv2.ConditionReasonPrecedence
		}
	}
	list.Set(criticalv2.ConditionOverridden, true, reason, texts)
}

// setStalled says what no waiting ends while Ready is False. Where that is so of a Service,
// others may still become protected; Ready stays False for all of them.
func setStalled(list condition.List, details []criticalv2.ServiceStatus) {
	ready := meta.FindStatusCondition(*list.Conditions, criticalv2.ConditionReady)
	if ready.Status == metav1.ConditionTrue {
		list.Remove(criticalv2.ConditionStalled)
		return
	}
	if protection.NeedsChange(ready.Reason) {
		list.Set(criticalv2.ConditionStalled, true, ready.Reason, ready.Message)
		return
	}
	for _, reason := range protection.ReasonsToAct {
		if !protection.NeedsChange(reason) {
			continue
		}
		if texts := describe(details, func(d criticalv2.ServiceStatus) bool { return isOpen(d.State) && d.Reason == reason }); texts != "" {
			list.Set(criticalv2.ConditionStalled, true, reason, texts)
			return
		}
	}
	list.Remove(criticalv2.ConditionStalled)
}

// isOpen reports whether a Service in a state is not protected, and should be.
func isOpen(state criticalv2.ServiceState) bool {
	return state == criticalv2.StateArming || state == criticalv2.StateExposed
}

// describe says what holds for the first of the chosen Services, and how many
// more there are.
func describe(details []criticalv2.ServiceStatus, chosen func(criticalv2.ServiceStatus) bool) string {
	var first *criticalv2.ServiceStatus
	more := -1
	for i := range details {
		if !chosen(details[i]) {
			continue
		}
		more++
		if first == nil || byName(details[i], *first) < 0 {
			first = &details[i]
		}
	}
	if first == nil {
		return ""
	}
	text := fmt.Sprintf("Service %s/%s: %s", first.Namespace, first.Name, first.Message)
	if more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// capped sorts the details by namespace and name, and keeps those that matter
// most where there are too many.
func capped(details []criticalv2.ServiceStatus) []criticalv2.ServiceStatus {
	kept := slices.SortedFunc(slices.Values(details), func(a, b criticalv2.ServiceStatus) int {
		return cmp.Or(cmp.Compare(urgency[a.State], urgency[b.State]), byName(a, b))
	})
	kept = kept[:min(len(kept), criticalv2.MaxDetails)]
	slices.SortFunc(kept, byName)
	return kept
}

var urgency = map[criticalv2.ServiceState]int{
	criticalv2.StateExposed: 0, criticalv2.StateCovered: 1, criticalv2.StateArming: 2,
	criticalv2.StateArmed: 3, criticalv2.StateIgnored: 4,
}

func byName(a, b criticalv2.ServiceStatus) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// shorten keeps a message within the bounds of the schema and of an event's note.
func shorten(message string) string { return text.Shorten(message, 1024) }
