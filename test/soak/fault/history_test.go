package fault

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

var start = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

func injected(second int, kind Kind, service string) Injected {
	at := time.Duration(second) * time.Second
	return Injected{Step: Step{At: at, Kind: kind, Service: service}, Began: start.Add(at)}
}

func TestAFailureIsExplained(t *testing.T) {
	history := History{
		injected(10, ScaleDown, "a"), injected(20, KillOperator, ""), injected(25, DeletePods, "b"), injected(100, OptOut, "b"),
		injected(110, BeginMaintenance, "b"), injected(120, DeleteResponder, ""), injected(150, EditPolicy, "a"), injected(200, OptIn, "b"),
	}
	tests := map[string]struct {
		service string
		second  int
		want    Kind
	}{
		"by the fault that happened to its Service":        {service: "a", second: 12, want: ScaleDown},
		"from the moment of the fault":                     {service: "a", second: 10, want: ScaleDown},
		"by the latest one":                                {service: "b", second: 26, want: DeletePods},
		"by one that concerns all":                         {service: "a", second: 22, want: KillOperator},
		"not by a fault that happened to another Service":  {service: "a", second: 29, want: KillOperator},
		"by an earlier one where the latest is over":       {service: "a", second: 30, want: ScaleDown},
		"not by a fault that came later":                   {service: "b", second: 24, want: KillOperator},
		"not before the first fault":                       {service: "a", second: 9, want: None},
		"not by a fault of long ago":                       {service: "a", second: 40, want: None},
		"not when only a fault elsewhere was a moment ago": {service: "a", second: 101, want: None},
		"by what keeps it without protection, as it lasts": {service: "b", second: 199, want: OptOut},
		"by that also where another fault came later":      {service: "b", second: 121, want: OptOut},
		"not by what changes nothing for clients":          {service: "b", second: 111, want: OptOut},
		"by its end, until all is made again":              {service: "b", second: 229, want: OptIn},
		"and not by what has ended":                        {service: "b", second: 230, want: None},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			NewWithT(t).Expect(history.Explains(test.service, start.Add(time.Duration(test.second)*time.Second))).To(Equal(test.want))
		})
	}
}

func TestAServiceIsUnprotectedUnderFewKinds(t *testing.T) {
	NewWithT(t).Expect(slices.DeleteFunc(append(Kinds(), None), func(kind Kind) bool { return !kind.Unprotects() })).
		To(Equal([]Kind{DeletePolicy, OptOut}))
}

func TestTheHistoryIsReported(t *testing.T) {
	g := NewWithT(t)
	history := History{injected(10, ScaleDown, "a"), injected(20, KillOperator, ""), injected(31, ScaleDown, "b")}
	g.Expect(history.Count()).To(Equal(map[Kind]int{ScaleDown: 2, KillOperator: 1}))
	g.Expect(history.Last(2)).To(Equal(
		"  12:00:20       20s  kill a Pod of the operator\n  12:00:31       31s  b: scale the workload to zero\n"))
	g.Expect(history.Last(9)).To(HavePrefix("  12:00:10"))
}
