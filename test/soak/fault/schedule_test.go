package fault

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

var someServices = []string{"a", "b", "c", "d", "e", "f"}

func TestASeedMakesOneSchedule(t *testing.T) {
	g := NewWithT(t)
	steps := Schedule(7, someServices, time.Hour)
	g.Expect(Schedule(7, someServices, time.Hour)).To(Equal(steps))
	g.Expect(Schedule(8, someServices, time.Hour)).NotTo(Equal(steps))
	g.Expect(len(steps)).To(And(BeNumerically(">=", 450), BeNumerically("<=", 1800)), "every few seconds")
}

// laws hold for every schedule. Each gets the steps one by one, with those before.
var laws = map[string]func(g Gomega, before []Step, step Step, length time.Duration){
	"steps are in the order of time, some seconds apart until the end": func(g Gomega, before []Step, step Step, length time.Duration) {
		last := time.Duration(0)
		if len(before) > 0 {
			last = before[len(before)-1].At
		}
		g.Expect(step.At <= length).To(BeTrue())
		if step.At < length {
			g.Expect(step.At - last).To(And(BeNumerically(">=", leastPause), BeNumerically("<", mostPause)))
		}
	},
	"what lasts does not happen twice to a Service, and is ended only where it has begun": func(g Gomega, before []Step, step Step, _ time.Duration) {
		for _, rule := range rules {
			isUnder := slices.Contains(under(rule, before), step.Service)
			if rule.end != "" && step.Kind == rule.kind {
				g.Expect(isUnder).To(BeFalse())
			}
			if rule.end != "" && step.Kind == rule.end {
				g.Expect(isUnder).To(BeTrue())
			}
		}
	},
	"no more Services are under a fault than may be": func(g Gomega, before []Step, step Step, _ time.Duration) {
		for _, rule := range rules {
			if rule.end != "" {
				g.Expect(len(under(rule, append(before, step)))).To(BeNumerically("<=", rule.most))
			}
		}
	},
	"a fault that would have no effect does not happen": func(g Gomega, before []Step, step Step, _ time.Duration) {
		for _, rule := range rules {
			for _, not := range rule.not {
				if step.Kind == rule.kind {
					g.Expect(under(ruleOf(not), before)).NotTo(ContainElement(step.Service))
				}
			}
		}
	},
	"the operator and the responder get time to recover": func(g Gomega, before []Step, step Step, _ time.Duration) {
		for _, rule := range rules {
			for _, earlier := range before {
				if step.Kind == rule.kind && earlier.Kind == rule.kind {
					g.Expect(step.At - earlier.At).To(BeNumerically(">=", rule.pause))
				}
			}
		}
	},
	"Pods of the operator are ended in the first half only": func(g Gomega, _ []Step, step Step, length time.Duration) {
		g.Expect((step.Kind == KillOperator || step.Kind == Drain) && step.At >= length/2).To(BeFalse())
	},
	"what concerns all names no Service, and everything else names one": func(g Gomega, _ []Step, step Step, _ time.Duration) {
		if slices.Contains([]Kind{KillOperator, DeleteResponder, Drain, Uncordon}, step.Kind) {
			g.Expect(step.Service).To(BeEmpty())
			return
		}
		g.Expect(someServices).To(ContainElement(step.Service))
	},
}

// ruleOf is the rule of a kind.
func ruleOf(kind Kind) rule {
	return rules[slices.IndexFunc(rules, func(rule rule) bool { return rule.kind == kind })]
}

// under are the Services that are under a fault after some steps.
func under(rule rule, steps []Step) []string {
	var services []string
	for _, step := range steps {
		switch step.Kind {
		case rule.kind:
			services = append(services, step.Service)
		case rule.end:
			services = slices.DeleteFunc(services, func(service string) bool { return service == step.Service })
		}
	}
	return services
}

func TestTheLawsHoldForEverySchedule(t *testing.T) {
	for sentence, law := range laws {
		t.Run(sentence, func(t *testing.T) {
			for seed := range uint64(20) {
				for _, length := range []time.Duration{time.Minute, 10 * time.Minute} {
					steps := Schedule(seed, someServices, length)
					for i, step := range steps {
						describe := fmt.Sprintf("seed %d, step %d: %s", seed, i, step)
						law(describing(NewWithT(t), describe), steps[:i:i], step, length)
					}
				}
			}
		})
	}
}

// describing is a Gomega that says which step breaks a law.
func describing(g *WithT, what string) Gomega {
	return NewGomega(func(message string, _ ...int) { g.Fail(what + "\n" + message) })
}

func TestEverythingIsEndedInTheEnd(t *testing.T) {
	for seed := range uint64(50) {
		steps := Schedule(seed, someServices, 10*time.Minute)
		for _, rule := range rules {
			if rule.end != "" {
				NewWithT(t).Expect(under(rule, steps)).To(BeEmpty(), "seed %d: %s", seed, rule.kind)
			}
		}
	}
}

func TestEveryKindHappensInAFewMinutes(t *testing.T) {
	for seed := range uint64(20) {
		happened := map[Kind]bool{}
		for _, step := range Schedule(seed, someServices, 20*time.Minute) {
			happened[step.Kind] = true
		}
		for _, kind := range Kinds() {
			NewWithT(t).Expect(happened).To(HaveKey(kind), "seed %d", seed)
		}
	}
}
