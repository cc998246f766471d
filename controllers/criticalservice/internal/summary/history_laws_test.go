package summary_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
)

// The laws of the history, in random sequences of what may be seen.
func TestTheLawsOfTheHistory(t *testing.T) {
	states := []func(string) summary.Verdict{armedNow, exposedNow, coveredNow, unknownNow,
		func(name string) summary.Verdict { return because(coveredNow(name), criticalv2.CauseCrashLoop) },
		func(name string) summary.Verdict { return because(exposedNow(name), criticalv2.CauseNotFound) },
		func(name string) summary.Verdict { return provisionally(exposedNow(name)) },
		func(name string) summary.Verdict { return governedBy("A", coveredNow(name)) },
	}
	for name, services := range map[string]int{"few Services": 3, "more Services than the list has places": criticalv2.MaxOutages + 20} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5) {
				g := NewWithT(t)
				random := rand.New(rand.NewPCG(seed, 0))
				c := newRecorder(g, many(services)...)
				for range 60 {
					var verdicts []summary.Verdict
					for i := range services {
						if random.IntN(10) > 0 { // Now and then a Service is gone.
							verdicts = append(verdicts, states[random.IntN(len(states))](fmt.Sprintf("s-%03d", i)))
						}
					}
					holdLaws(g, random, c, verdicts)
				}
			}
		})
	}
}

// holdLaws sees a random world, and holds what becomes of the history to its laws.
func holdLaws(g Gomega, random *rand.Rand, c *recorder, verdicts []summary.Verdict) {
	before := c.policy.DeepCopy()
	c.see(time.Duration(1+random.IntN(1000))*time.Millisecond, verdicts...)
	outages := c.policy.Status.Outages

	g.Expect(len(outages)).To(BeNumerically("<=", criticalv2.MaxOutages))
	g.Expect(slices.IsSortedFunc(outages, func(a, b criticalv2.Outage) int { return b.Began.Compare(a.Began.Time) })).To(BeTrue())
	of, underWay := map[string]int{}, map[string]metav1.MicroTime{}
	for _, outage := range outages {
		of[outage.Name]++
		if outage.Ended == nil {
			g.Expect(underWay).NotTo(HaveKey(outage.Name), "a Service is in one outage at a time")
			underWay[outage.Name] = outage.Began
		} else {
			g.Expect(outage.Ended.Before(&outage.Began)).To(BeFalse())
		}
	}
	for name, number := range of {
		g.Expect(number).To(BeNumerically("<=", criticalv2.MaxOutagesOfService), name)
	}
	up, down := map[string]bool{}, map[string]bool{}
	for _, detail := range before.Status.Details {
		up[detail.Name] = detail.State == criticalv2.StateArmed
	}
	for _, detail := range summary.Summarize(before, verdicts, summary.Scope{}, c.now).Details {
		down[detail.Name] = detail.State == criticalv2.StateExposed || detail.State == criticalv2.StateCovered
		if up[detail.Name] && down[detail.Name] && len(underWay) < criticalv2.MaxOutages {
			g.Expect(underWay).To(HaveKey(detail.Name), "an outage whose beginning is seen is listed")
		}
	}
	for _, outage := range before.Status.Outages {
		if outage.Ended == nil && down[outage.Name] {
			g.Expect(underWay).To(HaveKeyWithValue(outage.Name, outage.Began), "an outage that goes on is not forgotten, and began when it did")
		}
	}

	again := c.policy.DeepCopy()
	g.Expect(summary.Summarize(again, verdicts, summary.Scope{}, c.now.Add(time.Hour)).Outages).To(Equal(outages), "where nothing changes, nothing is written")
	g.Expect(again).To(Equal(c.policy.DeepCopy()), "the status that was read is not changed")
	other := slices.Clone(verdicts)
	random.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
	g.Expect(words(summary.Summarize(before, other, summary.Scope{}, c.now))).To(Equal(words(c.policy.Status)), "the order of Services means nothing")
}

// words is a status as it is stored.
func words(status criticalv2.ProtectionStatus) string {
	stored, err := json.Marshal(status.Outages)
	return strings.TrimSpace(fmt.Sprint(string(stored), err))
}
