package summary

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/internal/protection"
)

// Judgement is what was decided about one Service, as far as status and metrics report
// it: one is kept of each Service, so that it holds no object.
type Judgement struct {
	Service types.NamespacedName
	// At is the time of the observation that it was made from.
	At time.Time
	// Matching are the policies that match the Service: the first one governs it, because
	// of its tier.
	Matching []Policy
	Tier     protection.Tier
	// State, Reason and Message are those of the Plan.
	State           criticalv2.ServiceState
	Reason, Message string
	// Provisional is true while the state rests on an answer of the API server that is
	// yet to come.
	Provisional bool
	// OwnReady is how many ready endpoints of its own the Service has.
	OwnReady int
	// Fallback is the kind of fallback that stands in for the Service; empty if none can.
	Fallback string
	// Maintenance is true while one is announced, and Planned is the cause of an outage
	// that is planned; nil if there is none.
	Maintenance bool
	Planned     *criticalv2.OutageCause
	// Published is true if there is an endpoint of a fallback that can be asked.
	Published bool
}

// Policy is one state of the spec of a policy. Its key tells a CriticalService, which has
// no namespace, from a ServiceFallback.
type Policy struct {
	Key        types.NamespacedName
	Kind       string
	UID        types.UID
	Generation int64
}

// PolicyOf is the state of a policy.
func PolicyOf(policy criticalv2.Policy) Policy {
	return Policy{Key: KeyOf(policy), Kind: policy.PolicyKind().Kind, UID: policy.GetUID(), Generation: policy.GetGeneration()}
}

// KeyOf is the key of a policy.
func KeyOf(policy criticalv2.Policy) types.NamespacedName {
	return types.NamespacedName{Namespace: policy.GetNamespace(), Name: policy.GetName()}
}

// Judge makes the Judgement of a Plan; nil if no policy matches the Service.
func Judge(snap *decide.Snapshot, plan *decide.Plan) *Judgement {
	if snap.Service == nil || plan.Governor == nil {
		return nil
	}
	judgement := &Judgement{
		Service: types.NamespacedName{Namespace: snap.Service.Namespace, Name: snap.Service.Name}, At: snap.Now,
		State: plan.State, Reason: plan.Reason, Message: shorten(plan.Message), Provisional: plan.Provisional,
		OwnReady: plan.OwnReady, Fallback: plan.Fallback,
		Tier:        protection.TierOf(plan.Governor, snap.Service.Name),
		Maintenance: plan.Maintenance != nil, Planned: plannedCause(plan), Published: Publishes(snap),
	}
	for _, policy := range protection.Matching(snap.Policies, snap.Service, snap.NamespaceLabels) {
		judgement.Matching = append(judgement.Matching, PolicyOf(policy))
	}
	return judgement
}

// Publishes reports whether an endpoint of a fallback is published that can be asked:
// of a standby, or in an outage of a fallback Pod that the Service selects.
func Publishes(snap *decide.Snapshot) bool {
	for i := range snap.Standby {
		if len(snap.Standby[i].Endpoints) > 0 {
			return true
		}
	}
	return len(snap.SelectedTargets()) > 0
}

// IsGovernedBy reports whether a policy governs the Service.
func (j *Judgement) IsGovernedBy(policy types.NamespacedName) bool {
	return len(j.Matching) > 0 && j.Governor() == policy
}

// Accounts reports whether a policy matched the Service with the spec that it
// has now.
func (j *Judgement) Accounts(policy Policy) bool { return slices.Contains(j.Matching, policy) }

// Policies are the keys of the policies that match the Service; none of a Judgement that
// is nil.
func (j *Judgement) Policies() []types.NamespacedName {
	if j == nil {
		return nil
	}
	keys := make([]types.NamespacedName, 0, len(j.Matching))
	for _, policy := range j.Matching {
		keys = append(keys, policy.Key)
	}
	return keys
}

// Governor is the key of the policy that governs the Service.
func (j *Judgement) Governor() types.NamespacedName { return j.Matching[0].Key }

// SameGovernor reports whether the same policies match the Service, and the same one
// governs it. Either may be nil.
func (j *Judgement) SameGovernor(other *Judgement) bool {
	return j != nil && other != nil && j.Tier == other.Tier && slices.Equal(j.Matching, other.Matching)
}

// Same reports whether two Judgements say the same in a status, which says nothing of
// the number of endpoints. Either may be nil.
func (j *Judgement) Same(other *Judgement) bool {
	if j == nil || other == nil {
		return j == other
	}
	return j.State == other.State && j.Reason == other.Reason && j.Message == other.Message &&
		j.Provisional == other.Provisional && j.Fallback == other.Fallback && j.Published == other.Published &&
		samePlanned(j.Planned, other.Planned) && j.SameGovernor(other)
}

// Turns reports whether an outage that was under way is over, or is covered now, or not any
// more.
func (j *Judgement) Turns(last *Judgement) bool { return isOutage(last.State) && j.State != last.State }

// samePlanned compares causes that plannedCause made.
func samePlanned(a, b *criticalv2.OutageCause) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Reason == b.Reason && a.Message == b.Message
}

// IsHeld reports whether what the status says of a Service holds although something else
// was decided: a dry run is pending, and until its result is there, that of the last
// one (perhaps of an operator before this one) is the best that is known.
func (j *Judgement) IsHeld(was *criticalv2.ServiceStatus) bool {
	armed := was.State == criticalv2.StateArmed && j.State == criticalv2.StateArming
	return j.Provisional && (was.State == j.State || armed)
}
