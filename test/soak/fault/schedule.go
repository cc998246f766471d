package fault

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// The pause between two faults is between these.
const (
	leastPause = 2 * time.Second
	mostPause  = 8 * time.Second
)

// Step is one fault of a schedule.
type Step struct {
	// At is when it happens, from the beginning.
	At   time.Duration
	Kind Kind
	// Service is the one to which it happens; empty where it concerns all.
	Service string
	// Variant chooses among the ways in which it can happen, and among the objects to which it can.
	Variant uint
}

// String is a step in one line.
func (s Step) String() string {
	if s.Service == "" {
		return fmt.Sprintf("%8s  %s", s.At.Truncate(time.Millisecond), s.Kind)
	}
	return fmt.Sprintf("%8s  %s: %s", s.At.Truncate(time.Millisecond), s.Service, s.Kind)
}

// Schedule are the faults of a run of a length, in the order of time. The same seed, Services and length make the same
// schedule. What lasts is ended: by the last steps, which are at the end.
func Schedule(seed uint64, services []string, length time.Duration) []Step {
	chooser := &chooser{
		random:   rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // A run must be repeatable by its seed.
		services: services, length: length, under: map[Kind][]string{}, last: map[Kind]time.Duration{},
	}
	var steps []Step
	for at := chooser.pause(); at < length; at += chooser.pause() {
		steps = append(steps, chooser.next(at))
	}
	return append(steps, chooser.ends()...)
}

// chooser knows which Services are under what.
type chooser struct {
	random   *rand.Rand
	services []string
	length   time.Duration
	under    map[Kind][]string
	last     map[Kind]time.Duration
}

func (c *chooser) pause() time.Duration {
	return leastPause + time.Duration(c.random.Int64N(int64(mostPause-leastPause)))
}

// next takes each kind that is possible with the same probability, so that rare ones happen, too.
func (c *chooser) next(at time.Duration) Step {
	var possible []Step
	for _, rule := range rules {
		possible = append(possible, c.one(rule.kind, c.eligible(rule, at))...)
		possible = append(possible, c.one(rule.end, c.under[rule.kind])...)
	}
	step := possible[c.random.IntN(len(possible))]
	step.At, step.Variant = at, c.random.UintN(1<<16)
	c.take(step)
	return step
}

// one is a step of a kind, to one of some Services.
func (c *chooser) one(kind Kind, services []string) []Step {
	if len(services) == 0 {
		return nil
	}
	return []Step{{Kind: kind, Service: services[c.random.IntN(len(services))]}}
}

// eligible are the Services to which a fault may happen now. The one without a name stands for all.
func (c *chooser) eligible(rule rule, at time.Duration) []string {
	last, happened := c.last[rule.kind]
	if happened && at-last < rule.pause || rule.early && at >= c.length/2 {
		return nil
	}
	if rule.end != "" && len(c.under[rule.kind]) >= rule.most {
		return nil
	}
	if rule.all {
		return []string{""}
	}
	return slices.DeleteFunc(slices.Clone(c.services), func(service string) bool {
		return slices.ContainsFunc(append([]Kind{rule.kind}, rule.not...), func(kind Kind) bool {
			return slices.Contains(c.under[kind], service)
		})
	})
}

func (c *chooser) take(step Step) {
	c.last[step.Kind] = step.At
	for _, rule := range rules {
		switch {
		case rule.end == "":
		case step.Kind == rule.kind:
			c.under[rule.kind] = append(c.under[rule.kind], step.Service)
		case step.Kind == rule.end:
			c.under[rule.kind] = slices.DeleteFunc(c.under[rule.kind], func(service string) bool { return service == step.Service })
		}
	}
}

// ends end all that lasts.
func (c *chooser) ends() []Step {
	var steps []Step
	for _, rule := range rules {
		for _, service := range c.under[rule.kind] {
			steps = append(steps, Step{At: c.length, Kind: rule.end, Service: service})
		}
	}
	return steps
}
