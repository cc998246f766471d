// Package history is the command that lists past outages.
package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
	"github.com/critical-service/operator/internal/protection"
)

// View is what the command found, as -o json prints it.
type View struct {
	// Outages are the latest first.
	Outages []Outage `json:"outages"`
	// Notices are sentences about what the list lacks.
	Notices []string `json:"notices,omitempty"`
}

// Outage is a time during which a Service had no ready endpoint of its own.
type Outage struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Began, Covered and Ended are when the operator saw it; Covered is absent if no
	// fallback answered, and Ended while the outage is under way.
	Began   metav1.MicroTime  `json:"began"`
	Covered *metav1.MicroTime `json:"covered,omitempty"`
	Ended   *metav1.MicroTime `json:"ended,omitempty"`
	// DurationSeconds is how long it lasted, or has lasted so far.
	DurationSeconds float64 `json:"durationSeconds"`
	// TimeToCoverSeconds is how long nothing answered, as far as the operator saw.
	TimeToCoverSeconds *float64 `json:"timeToCoverSeconds,omitempty"`
	// Fallback is what answered: page, podTemplate or service.
	Fallback string `json:"fallback,omitempty"`
	// Cause explains it, as far as it is known.
	Cause *criticalv2.OutageCause `json:"cause,omitempty"`
	// Governor has the record: it governed the Service when the outage began. Its tier is by
	// its spec of today. CriticalService is its name if it is one.
	Governor        access.Governor `json:"governor"`
	CriticalService string          `json:"criticalService,omitempty"`
}

// scope is whose outages are asked for; an empty field means any.
type scope struct {
	namespace, name string
}

// viewOf collects the outages from the status of all policies.
func viewOf(policies []criticalv2.Policy, scope scope, now time.Time) View {
	view := View{Outages: []Outage{}}
	for _, policy := range policies {
		for _, outage := range policy.Observed().Outages {
			asked := (scope.namespace == "" || scope.namespace == outage.Namespace) && (scope.name == "" || scope.name == outage.Name)
			if asked {
				view.Outages = append(view.Outages, outageOf(policy, outage, now))
			}
		}
	}
	slices.SortFunc(view.Outages, func(a, b Outage) int {
		return cmp.Or(b.Began.Compare(a.Began.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return view
}

func outageOf(policy criticalv2.Policy, outage criticalv2.Outage, now time.Time) Outage {
	end := now
	if outage.Ended != nil {
		end = outage.Ended.Time
	}
	result := Outage{
		Namespace: outage.Namespace, Name: outage.Name, Began: outage.Began, Covered: outage.Covered, Ended: outage.Ended,
		DurationSeconds: max(end.Sub(outage.Began.Time), 0).Seconds(), Fallback: outage.Fallback, Cause: outage.Cause,
		Governor: access.Governor{
			Kind: policy.PolicyKind().Kind, Name: policy.GetName(), Tier: protection.TierOf(policy, outage.Name).String(),
		},
	}
	if policy.GetNamespace() == "" {
		result.CriticalService = policy.GetName()
	}
	if outage.Covered != nil {
		result.TimeToCoverSeconds = new(max(outage.Covered.Sub(outage.Began.Time), 0).Seconds())
	}
	return result
}

// columns of the table.
func columns(allNamespaces bool) []output.Column {
	all := []output.Column{
		{Name: "NAMESPACE"}, {Name: "NAME"}, {Name: "BEGAN"}, {Name: "AGE"}, {Name: "LASTED"}, {Name: "COVERED-AFTER"}, {Name: "FALLBACK"},
		{Name: "GOVERNOR", Wide: true}, {Name: "TIER", Wide: true}, {Name: "REASON", Wide: true}, {Name: "CAUSE"},
	}
	if !allNamespaces {
		return all[1:]
	}
	return all
}

func row(outage *Outage, allNamespaces bool, now time.Time) []string {
	reason, text := "", "not known"
	if outage.Cause != nil {
		reason, text = outage.Cause.Reason, cmp.Or(outage.Cause.Message, outage.Cause.Reason)
	}
	if reason == criticalv2.CauseNotFound {
		text = "not found"
	}
	cells := []string{
		outage.Namespace, outage.Name, outage.Began.UTC().Format(time.RFC3339), output.Age(outage.Began.Time, now),
		lasted(outage), coveredAfter(outage), outage.Fallback, outage.Governor.String(), outage.Governor.Tier, reason, text,
	}
	if !allNamespaces {
		return cells[1:]
	}
	return cells
}

func lasted(outage *Outage) string {
	text := output.Took(seconds(outage.DurationSeconds))
	if outage.Ended == nil {
		return text + " so far"
	}
	return text
}

// coveredAfter says how long nothing answered. A standby that was ready answers
// before the operator looks.
func coveredAfter(outage *Outage) string {
	switch {
	case outage.TimeToCoverSeconds == nil && outage.Ended == nil:
		return "not yet"
	case outage.TimeToCoverSeconds == nil:
		return "never"
	case *outage.TimeToCoverSeconds == 0:
		return "at once"
	default:
		return output.Took(seconds(*outage.TimeToCoverSeconds))
	}
}

func seconds(count float64) time.Duration { return time.Duration(count * float64(time.Second)) }

// bounds says that the list is not the whole past.
func bounds() string {
	return fmt.Sprintf("Kept are the latest %d outages of a Service, and %d of all Services of a CriticalService or ServiceFallback; times are when the operator saw it.",
		criticalv2.MaxOutagesOfService, criticalv2.MaxOutages)
}
