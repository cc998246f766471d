package summary

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// observation is what is seen of a Service now.
type observation struct {
	detail   criticalv2.ServiceStatus
	fallback string
	// overridden is true where another policy governs the Service, which has the outages
	// that begin now.
	overridden bool
}

// recordOutages continues the list of outages: one begins when a Service that is not new
// is first seen in outage, and ends when it is seen to answer by itself, or no longer
// matches. The latest come first, and the oldest are dropped.
func recordOutages(policy criticalv2.Policy, details []criticalv2.ServiceStatus, verdicts []Verdict, now time.Time) []criticalv2.Outage {
	moment := metav1.NewMicroTime(now)
	seen := observe(policy, details, verdicts)

	var outages []criticalv2.Outage
	for _, outage := range policy.Observed().Outages {
		key := types.NamespacedName{Namespace: outage.Namespace, Name: outage.Name}
		current, found := seen[key]
		switch {
		case outage.Ended != nil:
		case found && inOutage(current.detail):
			outage = continued(outage, current, moment)
			delete(seen, key)
		case found && current.detail.Reason == criticalv2.ReasonEndpointsUnknown:
			// That nothing is known of a Service does not mean that it answers.
		default:
			outage.Ended = new(notBefore(outage, moment))
		}
		outages = append(outages, outage)
	}
	return latest(append(outages, begun(policy, seen, outages, moment)...))
}

// observe joins what is known of each Service. The detail of one that another policy
// governs says nothing of it, so that its verdict counts: an outage goes on where the
// governor changes.
func observe(policy criticalv2.Policy, details []criticalv2.ServiceStatus, verdicts []Verdict) map[types.NamespacedName]observation {
	seen := map[types.NamespacedName]observation{}
	for _, detail := range details {
		seen[types.NamespacedName{Namespace: detail.Namespace, Name: detail.Name}] = observation{detail: detail}
	}
	for i := range verdicts {
		verdict := &verdicts[i]
		current := observation{
			detail: seen[verdict.Service].detail, fallback: verdict.Fallback, overridden: !verdict.IsGovernedBy(KeyOf(policy)),
		}
		if current.overridden {
			current.detail.State, current.detail.Reason, current.detail.Cause = verdict.State, verdict.Reason, verdict.cause()
		}
		seen[verdict.Service] = current
	}
	return seen
}

// begun are the outages that the list does not have yet. Those that are under way are
// never dropped, so that there may be no room for more.
func begun(policy criticalv2.Policy, seen map[types.NamespacedName]observation, listed []criticalv2.Outage, now metav1.MicroTime) []criticalv2.Outage {
	before := map[types.NamespacedName]*criticalv2.ServiceStatus{}
	for i := range policy.Observed().Details {
		detail := &policy.Observed().Details[i]
		before[types.NamespacedName{Namespace: detail.Namespace, Name: detail.Name}] = detail
	}
	roomBefore := room(policy.Observed().Outages)
	var added []criticalv2.Outage
	for key, current := range seen {
		was := before[key]
		if current.overridden || !inOutage(current.detail) || isNew(policy.Observed(), was, roomBefore) {
			continue
		}
		outage := criticalv2.Outage{Namespace: key.Namespace, Name: key.Name, Began: now}
		if was != nil && inOutage(*was) && was.Since.Time.Before(now.Time) {
			outage.Began = metav1.NewMicroTime(was.Since.Time) // The list had no room for it.
		}
		added = append(added, continued(outage, current, now))
	}
	slices.SortFunc(added, func(a, b criticalv2.Outage) int { return cmp.Or(a.Began.Compare(b.Began.Time), latestFirst(a, b)) })
	return added[:min(len(added), room(listed))]
}

// isNew reports whether a Service that is in outage was never seen with a ready endpoint of
// its own, so that it has not failed: it has not started yet; or whether its outage began
// under another policy, in whose history it is. The status before shows it, of which an
// operator that takes over knows no less: was is what it says of the Service
// (nil if nothing), and room how many outages more it could have listed.
func isNew(before *criticalv2.ProtectionStatus, was *criticalv2.ServiceStatus, room int) bool {
	switch {
	case was == nil:
		// Of more Services than a status lists, each that is not listed may have been up.
		return int(before.Services.Total) <= len(before.Details)
	case inOutage(*was):
		return room > 0 // Otherwise its outage waits for a place in the list.
	default:
		return was.Reason == criticalv2.ReasonEndpointsUnknown || was.Reason == criticalv2.ReasonOverridden
	}
}

// room is how many outages more a list may hold that are under way.
func room(listed []criticalv2.Outage) int {
	left := criticalv2.MaxOutages
	for i := range listed {
		if listed[i].Ended == nil {
			left--
		}
	}
	return max(left, 0)
}

// continued is an outage with what is known of it now.
func continued(outage criticalv2.Outage, current observation, now metav1.MicroTime) criticalv2.Outage {
	if current.detail.State == criticalv2.StateCovered && outage.Covered == nil {
		outage.Covered = new(notBefore(outage, now))
		outage.Fallback = current.fallback
	}
	if cause := current.detail.Cause; cause != nil && explains(cause) >= explains(outage.Cause) {
		outage.Cause = cause.DeepCopy()
	}
	return outage
}

// explains is how much a cause explains. The last thing seen of nearly every outage is
// that new Pods are starting, which is not why it began. What is seen of one that was made
// on purpose, until the application is back, follows from that purpose.
func explains(cause *criticalv2.OutageCause) int {
	switch {
	case cause == nil:
		return 0
	case cause.Reason == criticalv2.CauseNotFound:
		return 1
	case cause.Reason == criticalv2.CausePodsStarting:
		return 2
	case cause.Reason == criticalv2.CauseMaintenance || cause.Reason == criticalv2.CauseDrill:
		return 4
	default:
		return 3
	}
}

// notBefore is now, unless the clock of the replica that led before was ahead of
// this one's: nothing ends before it began.
func notBefore(outage criticalv2.Outage, now metav1.MicroTime) metav1.MicroTime {
	last := outage.Began
	if outage.Covered != nil {
		last = *outage.Covered
	}
	if now.Before(&last) {
		return last
	}
	return now
}

// latest sorts outages, the latest first, and keeps as many as a status may hold.
// Those that are under way are kept before others.
func latest(outages []criticalv2.Outage) []criticalv2.Outage {
	slices.SortFunc(outages, latestFirst)
	left := map[types.NamespacedName]int{}
	for _, outage := range outages {
		key := types.NamespacedName{Namespace: outage.Namespace, Name: outage.Name}
		if _, counted := left[key]; !counted {
			left[key] = criticalv2.MaxOutagesOfService
		}
		if outage.Ended == nil {
			left[key]--
		}
	}
	outages = slices.DeleteFunc(outages, func(outage criticalv2.Outage) bool {
		if outage.Ended == nil {
			return false
		}
		key := types.NamespacedName{Namespace: outage.Namespace, Name: outage.Name}
		left[key]--
		return left[key] < 0
	})
	for i := len(outages) - 1; i >= 0 && len(outages) > criticalv2.MaxOutages; i-- {
		if outages[i].Ended != nil {
			outages = slices.Delete(outages, i, i+1)
		}
	}
	return outages
}

func latestFirst(a, b criticalv2.Outage) int {
	return cmp.Or(b.Began.Compare(a.Began.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
