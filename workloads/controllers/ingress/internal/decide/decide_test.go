package decide_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/workloads/controllers/ingress/internal/decide"
)

const fallback = "mycrd.com/fallback"

func TestWhichAnnotationsAnIngressIsToHave(t *testing.T) {
	type texts = map[string]string
	kept := texts{"foo": "bar"}
	for sentence, c := range map[string]struct {
		snap decide.Snapshot
		want decide.Plan
	}{
		"what is missing is set":                     {decide.Snapshot{Selected: true, Kept: kept}, decide.Plan{Write: true, Apply: kept}},
		"what is there is not written again":         {decide.Snapshot{Selected: true, Kept: kept, Annotations: kept, Owned: []string{"foo"}}, decide.Plan{Apply: kept}},
		"what another has set alike is left to them": {decide.Snapshot{Selected: true, Kept: kept, Annotations: kept}, decide.Plan{Apply: texts{}}},
		"what another has set otherwise is a conflict": {
			decide.Snapshot{Selected: true, Kept: kept, Annotations: texts{"foo": "baz"}}, decide.Plan{Apply: texts{}, Conflicts: []string{"foo"}},
		},
		"a conflict does not keep the others from being set": {
			decide.Snapshot{Selected: true, Kept: texts{"foo": "bar", "team": "shop"}, Annotations: texts{"foo": "baz"}},
			decide.Plan{Write: true, Apply: texts{"team": "shop"}, Conflicts: []string{"foo"}},
		},
		"a setting that changed changes its own": {
			decide.Snapshot{Selected: true, Kept: texts{"foo": "new"}, Annotations: kept, Owned: []string{"foo"}},
			decide.Plan{Write: true, Apply: texts{"foo": "new"}},
		},
		"a setting that is gone takes its own off":         {decide.Snapshot{Selected: true, Annotations: kept, Owned: []string{"foo"}}, decide.Plan{Write: true, Apply: texts{}}},
		"an Ingress of another class gets nothing":         {decide.Snapshot{Kept: kept, OnFallback: []string{"web"}}, decide.Plan{Apply: texts{}}},
		"one whose class became another loses what it got": {decide.Snapshot{Kept: kept, Annotations: kept, Owned: []string{"foo"}}, decide.Plan{Write: true, Apply: texts{}}},
		"the Services on their fallback are said in order": {
			decide.Snapshot{Selected: true, OnFallback: []string{"web", "api"}},
			decide.Plan{Write: true, Apply: texts{fallback: "api, web"}, Fallback: "api, web"},
		},
		"only while they are": {
			decide.Snapshot{Selected: true, Annotations: texts{fallback: "api, web"}, Owned: []string{fallback}},
			decide.Plan{Write: true, Apply: texts{}, Before: "api, web"},
		},
		"what another says of it is no outage that ends": {
			decide.Snapshot{Selected: true, Kept: kept, Annotations: texts{fallback: "mine"}}, decide.Plan{Write: true, Apply: kept},
		},
		"the same outage is said once": {
			decide.Snapshot{Selected: true, OnFallback: []string{"web"}, Annotations: texts{fallback: "web"}, Owned: []string{fallback}},
			decide.Plan{Apply: texts{fallback: "web"}, Fallback: "web", Before: "web"},
		},
	} {
		t.Run(sentence, func(t *testing.T) { NewWithT(t).Expect(decide.Decide(c.snap)).To(Equal(c.want)) })
	}
}

func TestWhatAnotherHasSetTooIsLeftOut(t *testing.T) {
	g := NewWithT(t)
	plan := decide.Decide(decide.Snapshot{
		Selected: true, Kept: map[string]string{"a": "new", "b": "new", "c": "new"}, OnFallback: []string{"web"},
		Annotations: map[string]string{"a": "old", "b": "old", "c": "old", fallback: "api"}, Owned: []string{"a", "b", fallback},
	})
	plan.LeaveOut([]string{"b", fallback, "d"})
	g.Expect(plan).To(Equal(decide.Plan{
		Write: true, Apply: map[string]string{"a": "new"}, Conflicts: []string{"b", "c", fallback}, Fallback: "api", Before: "api",
	}))
}

func TestAListOfManyServicesIsBounded(t *testing.T) {
	g := NewWithT(t)
	var names []string
	for i := range 256 {
		names = append(names, fmt.Sprintf("%s-%03d", strings.Repeat("x", 59), i))
	}
	text := decide.Decide(decide.Snapshot{Selected: true, OnFallback: names}).Fallback
	g.Expect(len(text)).To(And(BeNumerically("<=", 1024), BeNumerically(">", 900)))
	g.Expect(text).To(MatchRegexp(`^x{59}-000, .* and 24[0-9] more$`))
}

// apply does what the API server does with a Plan: it takes off what is not applied any more.
func apply(s decide.Snapshot, plan decide.Plan) decide.Snapshot {
	s.Annotations = maps.Clone(s.Annotations)
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	for _, key := range s.Owned {
		delete(s.Annotations, key)
	}
	maps.Copy(s.Annotations, plan.Apply)
	s.Owned = slices.Sorted(maps.Keys(plan.Apply))
	return s
}

func TestTheLaws(t *testing.T) {
	keys, values := []string{"a", "b", "c", fallback}, []string{"1", "2"}
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 1))
		some := func() map[string]string {
			made := map[string]string{}
			for _, key := range keys {
				if random.IntN(2) == 0 {
					made[key] = values[random.IntN(2)]
				}
			}
			return made
		}
		s := decide.Snapshot{Selected: random.IntN(4) > 0, Annotations: some(), Kept: some()}
		delete(s.Kept, fallback)
		for key := range s.Annotations {
			if random.IntN(2) == 0 {
				s.Owned = append(s.Owned, key)
			}
		}
		if random.IntN(2) == 0 {
			s.OnFallback = []string{"web"}
		}
		g, where := NewWithT(t), fmt.Sprintf("seed %d", seed)
		before := maps.Clone(s.Annotations)
		plan := decide.Decide(s)
		after := apply(s, plan)
		g.Expect(s.Annotations).To(Equal(before), "the input is unchanged: "+where)
		for key, value := range before {
			if !slices.Contains(s.Owned, key) {
				g.Expect(after.Annotations).To(HaveKeyWithValue(key, value), "what another has set is untouched: "+where)
			}
		}
		for key, value := range s.Kept {
			if s.Selected && !slices.Contains(plan.Conflicts, key) {
				g.Expect(after.Annotations).To(HaveKeyWithValue(key, value), "what is set is there: "+where)
			}
		}
		g.Expect(decide.Decide(after).Write).To(BeFalse(), "the next Plan is empty: "+where)
		g.Expect(plan.Write || maps.Equal(after.Annotations, before)).To(BeTrue(), "nothing changes without a write: "+where)
	}
}
