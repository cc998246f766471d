package summary_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
)

// recorder follows Services for CriticalService "a". All that it remembers from
// one moment to the next is the status as the API server stores it.
type recorder struct {
	g      Gomega
	policy *criticalv2.CriticalService
	now    time.Time
}

// newRecorder has seen some Services answer.
func newRecorder(g Gomega, up ...string) *recorder {
	c := &recorder{g: g, policy: policy("a"), now: now}
	var verdicts []summary.Verdict
	for _, name := range up {
		verdicts = append(verdicts, armedNow(name))
	}
	c.see(0, verdicts...)
	return c
}

// see summarizes what is seen some time later.
func (c *recorder) see(later time.Duration, verdicts ...summary.Verdict) {
	c.now = c.now.Add(later)
	stored, err := json.Marshal(summary.Summarize(c.policy, verdicts, summary.Scope{}, c.now))
	c.g.Expect(err).NotTo(HaveOccurred())
	c.policy.Status = criticalv2.ProtectionStatus{}
	c.g.Expect(json.Unmarshal(stored, &c.policy.Status)).To(Succeed())
}

// story is the list of outages in words, for example "x +0s covered +1s by page
// ended +60s CrashLoop", with times since the first moment.
func (c *recorder) story() []string {
	lines := []string{}
	for _, outage := range c.policy.Status.Outages {
		line := fmt.Sprintf("%s +%s", outage.Name, outage.Began.Sub(now))
		if outage.Covered != nil {
			line += fmt.Sprintf(" covered +%s by %s", outage.Covered.Sub(now), outage.Fallback)
		}
		if outage.Ended != nil {
			line += fmt.Sprintf(" ended +%s", outage.Ended.Sub(now))
		}
		if outage.Cause != nil {
			line += " " + outage.Cause.Reason
		}
		lines = append(lines, line)
	}
	return lines
}

func armedNow(name string) summary.Verdict {
	return verdict(name, criticalv2.StateArmed, criticalv2.ReasonStandbyReady)
}

func exposedNow(name string) summary.Verdict {
	return verdict(name, criticalv2.StateExposed, criticalv2.ReasonFallbackStarting)
}

func coveredNow(name string) summary.Verdict {
	v := verdict(name, criticalv2.StateCovered, criticalv2.ReasonFallbackServing)
	v.Fallback = criticalv2.FallbackKindPage
	return v
}

func unknownNow(name string) summary.Verdict {
	return verdict(name, criticalv2.StateArming, criticalv2.ReasonEndpointsUnknown)
}

func because(v summary.Verdict, reason string) summary.Verdict {
	v.Cause = &criticalv2.OutageCause{Reason: reason}
	return v
}

func governedBy(name string, v summary.Verdict) summary.Verdict {
	other := policy(name)
	v.Matching = []summary.Policy{summary.PolicyOf(other)}
	return v
}

func provisionally(v summary.Verdict) summary.Verdict {
	v.Provisional = true
	return v
}

func TestTheHistoryOfOutages(t *testing.T) {
	const second, minute = time.Second, time.Minute
	tests := map[string]struct {
		happens func(c *recorder)
		want    []string
	}{
		"a Service that answers has no history": {
			happens: func(c *recorder) { c.see(0, armedNow("x")); c.see(minute, armedNow("x")) },
			want:    []string{},
		},
		"an outage begins, is covered, and ends": {
			happens: func(c *recorder) {
				c.see(0, armedNow("x"))
				c.see(minute, exposedNow("x"))
				c.see(second, coveredNow("x"))
				c.see(minute, armedNow("x"))
			},
			want: []string{"x +1m0s covered +1m1s by page ended +2m1s"},
		},
		"a standby covers in the moment in which the outage begins": {
			happens: func(c *recorder) { c.see(0, armedNow("x")); c.see(minute, coveredNow("x")) },
			want:    []string{"x +1m0s covered +1m0s by page"},
		},
		"an outage that nothing answers is never covered": {
			happens: func(c *recorder) { c.see(0, exposedNow("x")); c.see(minute, armedNow("x")) },
			want:    []string{"x +0s ended +1m0s"},
		},
		"a fallback that goes and comes back is one outage, covered when it first was": {
			happens: func(c *recorder) {
				c.see(0, coveredNow("x"))
				c.see(minute, exposedNow("x"))
				c.see(minute, coveredNow("x"))
			},
			want: []string{"x +0s covered +0s by page"},
		},
		"the latest outage comes first": {
			happens: func(c *recorder) {
				c.see(0, coveredNow("x"), armedNow("y"))
				c.see(minute, armedNow("x"), coveredNow("y"))
				c.see(minute, coveredNow("x"), coveredNow("y"))
			},
			want: []string{"x +2m0s covered +2m0s by page", "y +1m0s covered +1m0s by page", "x +0s covered +0s by page ended +1m0s"},
		},
		"outages that began together are in the order of their names": {
			happens: func(c *recorder) { c.see(0, exposedNow("z"), exposedNow("x"), exposedNow("y")) },
			want:    []string{"x +0s", "y +0s", "z +0s"},
		},
		"a Service that vanishes in outage ends it": {
			happens: func(c *recorder) { c.see(0, exposedNow("x")); c.see(minute) },
			want:    []string{"x +0s ended +1m0s"},
		},
		"a Service that is deleted, or whose owner opts out, ends it": {
			happens: func(c *recorder) {
				c.see(0, exposedNow("x"), exposedNow("y"))
				c.see(minute, verdict("x", criticalv2.StateIgnored, criticalv2.ReasonTerminating),
					verdict("y", criticalv2.StateIgnored, criticalv2.ReasonOptedOut))
			},
			want: []string{"x +0s ended +1m0s", "y +0s ended +1m0s"},
		},
		"an outage goes on in the history in which it began, also under another governor": {
			happens: func(c *recorder) {
				c.see(0, exposedNow("x"))
				c.see(minute, governedBy("A", coveredNow("x")))
				c.see(minute, governedBy("A", unknownNow("x")))
				c.see(minute, governedBy("A", coveredNow("x")))
			},
			want: []string{"x +0s covered +1m0s by page"},
		},
		"an outage ends with the application's return, where another governs the Service by then": {
			happens: func(c *recorder) {
				c.see(0, coveredNow("x"))
				c.see(minute, governedBy("A", coveredNow("x")))
				c.see(minute, governedBy("A", armedNow("x")))
				c.see(minute, governedBy("A", coveredNow("x")))
			},
			want: []string{"x +0s covered +0s by page ended +2m0s"},
		},
		"an outage is one, although the Service was another's for a while": {
			happens: func(c *recorder) {
				c.see(0, coveredNow("x"))
				c.see(minute, governedBy("A", coveredNow("x")))
				c.see(minute, coveredNow("x"))
				c.see(minute, armedNow("x"))
			},
			want: []string{"x +0s covered +0s by page ended +3m0s"},
		},
		"an outage that began under another policy is in the history of that one": {
			happens: func(c *recorder) { c.see(0, governedBy("A", coveredNow("x"))); c.see(minute, coveredNow("x")) },
			want:    []string{},
		},
		"that nothing is known of a Service does not end its outage": {
			happens: func(c *recorder) {
				c.see(0, coveredNow("x"))
				c.see(minute, unknownNow("x"))
				c.see(minute, coveredNow("x"))
				c.see(minute, armedNow("x"))
			},
			want: []string{"x +0s covered +0s by page ended +3m0s"},
		},
		"that nothing is known of a Service is no outage": {
			happens: func(c *recorder) { c.see(0, unknownNow("x")); c.see(minute, unknownNow("x")) },
			want:    []string{},
		},
		"an outage goes on while the API server is about to be asked": {
			happens: func(c *recorder) {
				c.see(0, exposedNow("x"))
				c.see(second, provisionally(exposedNow("x")))
				c.see(second, coveredNow("x"))
			},
			want: []string{"x +0s covered +2s by page"},
		},
		"an outage begins though the API server is about to be asked": {
			happens: func(c *recorder) { c.see(0, armedNow("x")); c.see(minute, provisionally(exposedNow("x"))) },
			want:    []string{"x +1m0s"},
		},
		"a recovery ends it though the API server is about to be asked": {
			happens: func(c *recorder) {
				c.see(0, coveredNow("x"))
				c.see(minute, provisionally(verdict("x", criticalv2.StateArming, criticalv2.ReasonDryRunPending)))
			},
			want: []string{"x +0s covered +0s by page ended +1m0s"},
		},
		"the cause is the last that explains something": {
			happens: func(c *recorder) {
				c.see(0, coveredNow("x"))
				c.see(second, because(coveredNow("x"), criticalv2.CauseNotFound))
				c.see(second, because(coveredNow("x"), criticalv2.CauseScaledToZero))
				c.see(second, because(coveredNow("x"), criticalv2.CauseCrashLoop))
				c.see(second, because(coveredNow("x"), criticalv2.CausePodsStarting))
				c.see(second, because(coveredNow("x"), criticalv2.CauseNotFound))
				c.see(second, armedNow("x"))
			},
			want: []string{"x +0s covered +0s by page ended +6s CrashLoop"},
		},
		"Pods that start explain it where nothing else does": {
			happens: func(c *recorder) {
				c.see(0, because(coveredNow("x"), criticalv2.CauseNotFound))
				c.see(second, because(coveredNow("x"), criticalv2.CausePodsStarting))
				c.see(second, armedNow("x"))
			},
			want: []string{"x +0s covered +0s by page ended +2s PodsStarting"},
		},
		"a cause belongs to its own outage only": {
			happens: func(c *recorder) {
				c.see(0, because(coveredNow("x"), criticalv2.CauseCrashLoop))
				c.see(second, armedNow("x"))
				c.see(second, coveredNow("x"))
			},
			want: []string{"x +2s covered +2s by page", "x +0s covered +0s by page ended +1s CrashLoop"},
		},
		"an operator whose clock is behind ends nothing before it began": {
			happens: func(c *recorder) {
				c.see(minute, exposedNow("x"), coveredNow("y"))
				c.see(-30*second, coveredNow("x"), armedNow("y"))
				c.see(0, armedNow("x"), armedNow("y"))
			},
			want: []string{"x +1m0s covered +1m0s by page ended +1m0s", "y +1m0s covered +1m0s by page ended +1m0s"},
		},
		"an outage that was planned stays so until the application is back": {
			happens: func(c *recorder) {
				c.see(0, because(coveredNow("x"), criticalv2.CauseDrill))
				c.see(second, because(coveredNow("x"), criticalv2.CausePodsEnded))
				c.see(second, because(coveredNow("x"), criticalv2.CausePodsStarting))
				c.see(second, armedNow("x"))
			},
			want: []string{"x +0s covered +0s by page ended +3s Drill"},
		},
		"what was scaled down before the maintenance was announced is planned, too": {
			happens: func(c *recorder) {
				c.see(0, because(coveredNow("x"), criticalv2.CauseScaledToZero))
				c.see(second, because(coveredNow("x"), criticalv2.CauseMaintenance))
				c.see(second, because(coveredNow("x"), criticalv2.CauseScaledToZero))
			},
			want: []string{"x +0s covered +0s by page Maintenance"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := newRecorder(g, "x", "y", "z")
			test.happens(c)
			g.Expect(c.story()).To(Equal(test.want))
		})
	}
}

// A Service that was never seen to answer has not started yet, which is no outage.
func TestANewServiceHasNotFailed(t *testing.T) {
	const minute = time.Minute
	tests := map[string]struct {
		// before has been seen to answer.
		before  []string
		happens func(c *recorder)
		want    []string
	}{
		"one that has no endpoint yet": {
			happens: func(c *recorder) { c.see(0, unknownNow("x")); c.see(minute, exposedNow("x")) }, want: []string{},
		},
		"one for which the fallback answers until it has started": {
			happens: func(c *recorder) { c.see(0, coveredNow("x")); c.see(minute, armedNow("x")) }, want: []string{},
		},
		"one whose Pods do not start for long": {
			happens: func(c *recorder) {
				c.see(0, exposedNow("x"))
				c.see(minute, because(coveredNow("x"), criticalv2.CauseCrashLoop))
				c.see(minute, coveredNow("x"))
			},
			want: []string{},
		},
		"one that comes beside others": {
			before: []string{"y"}, happens: func(c *recorder) { c.see(0, armedNow("y"), exposedNow("x")) }, want: []string{},
		},
		"once it has answered it can fail": {
			happens: func(c *recorder) {
				c.see(0, exposedNow("x"))
				c.see(minute, armedNow("x"))
				c.see(minute, exposedNow("x"))
			},
			want: []string{"x +2m0s"},
		},
		"one that has answered and has no fallback yet can fail": {
			happens: func(c *recorder) {
				c.see(0, verdict("x", criticalv2.StateArming, criticalv2.ReasonResponderStarting))
				c.see(minute, exposedNow("x"))
			},
			want: []string{"x +1m0s"},
		},
		"one that went down while no operator ran has failed": {
			before: []string{"x"}, happens: func(c *recorder) { c.see(24*time.Hour, exposedNow("x")) }, want: []string{"x +24h0m0s"},
		},
		"one that comes back under its name is another": {
			before: []string{"x"}, happens: func(c *recorder) { c.see(minute); c.see(minute, exposedNow("x")) }, want: []string{},
		},
		"one that a full status did not list may have answered": {
			before:  many(criticalv2.MaxDetails + 1),
			happens: func(c *recorder) { c.see(minute, exposedNow("s-100")) }, want: []string{"s-100 +1m0s"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := newRecorder(g, test.before...)
			test.happens(c)
			g.Expect(c.story()).To(Equal(test.want))
		})
	}
}

func TestOfOneServiceTheLatestTenOutagesAreKept(t *testing.T) {
	g := NewWithT(t)
	c := newRecorder(g, "quiet", "x")
	c.see(0, exposedNow("quiet"), armedNow("x"))
	c.see(time.Second, armedNow("quiet"), armedNow("x"))
	for range 2 * criticalv2.MaxOutagesOfService {
		c.see(time.Minute, exposedNow("x"))
		c.see(time.Minute, armedNow("x"))
	}
	c.see(time.Minute, coveredNow("x"))

	story := c.story()
	g.Expect(story).To(HaveLen(criticalv2.MaxOutagesOfService + 1))
	g.Expect(story[0]).To(Equal("x +41m1s covered +41m1s by page"))
	g.Expect(story[criticalv2.MaxOutagesOfService-1]).To(Equal("x +23m1s ended +24m1s"))
	g.Expect(story[criticalv2.MaxOutagesOfService]).To(Equal("quiet +0s ended +1s"), "it does not crowd out others")
}

// many are the names of Services.
func many(number int) []string {
	var names []string
	for i := range number {
		names = append(names, fmt.Sprintf("s-%03d", i))
	}
	return names
}

// all says the same of many Services.
func all(number int, of func(string) summary.Verdict) []summary.Verdict {
	var verdicts []summary.Verdict
	for _, name := range many(number) {
		verdicts = append(verdicts, of(name))
	}
	return verdicts
}

func TestAnOutageUnderWayIsKeptBeforeAnyThatIsOver(t *testing.T) {
	g := NewWithT(t)
	c := newRecorder(g, append(many(60), "long")...)
	c.see(0, append(all(60, armedNow), exposedNow("long"))...)
	for range 3 {
		c.see(time.Minute, append(all(60, exposedNow), exposedNow("long"))...)
		c.see(time.Minute, append(all(60, armedNow), exposedNow("long"))...)
	}
	g.Expect(c.policy.Status.Outages).To(HaveLen(criticalv2.MaxOutages))
	g.Expect(c.story()[criticalv2.MaxOutages-1]).To(Equal("long +0s"), "it began first, and is not over")
}

func TestMoreServicesInOutageThanPlacesDoNotPushEachOtherOut(t *testing.T) {
	g := NewWithT(t)
	const waiting = 30
	c := newRecorder(g, many(criticalv2.MaxOutages+waiting)...)
	down := all(criticalv2.MaxOutages+waiting, exposedNow)
	c.see(0, append(all(criticalv2.MaxOutages+waiting, armedNow)[criticalv2.MaxOutages:], down[:criticalv2.MaxOutages]...)...)
	before := c.policy.Status.Outages
	g.Expect(before).To(HaveLen(criticalv2.MaxOutages))
	c.see(time.Minute, down...)
	g.Expect(c.policy.Status.Outages).To(Equal(before), "the list is full of outages that are under way")
	c.see(time.Minute, down...)
	g.Expect(c.policy.Status.Outages).To(Equal(before))

	down[0] = armedNow("s-000")
	c.see(time.Minute, down...)
	g.Expect(c.policy.Status.Outages).To(HaveLen(criticalv2.MaxOutages))
	c.see(time.Minute, down...)
	var names []string
	for _, outage := range c.policy.Status.Outages {
		g.Expect(outage.Ended).To(BeNil())
		names = append(names, outage.Name)
	}
	g.Expect(names).To(ContainElement("s-100"), "the first that waited has the place")
	g.Expect(names).NotTo(Or(ContainElement("s-101"), ContainElement("s-000")))
}

// Where the status lists a Service whose outage waits for a place, it is known when that began.
func TestAnOutageThatWaitedForAPlaceBeganWhenItsStateDid(t *testing.T) {
	g := NewWithT(t)
	names := many(criticalv2.MaxOutages)
	c := newRecorder(g, names...)
	c.see(0, all(criticalv2.MaxOutages, exposedNow)...)
	full := c.policy.Status.Outages
	for i := range full {
		full[i].Name = "other-" + full[i].Name // Of Services that the status does not list.
	}
	c.see(time.Minute, exposedNow("s-000"))
	g.Expect(c.story()).To(ContainElement("s-000 +0s"))
}
