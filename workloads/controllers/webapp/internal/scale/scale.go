// Package scale decides how many Pods a WebApp is to have for its traffic. It is pure.
//
// The rules are those of Kubernetes' HorizontalPodAutoscaler where it has them: a tolerance,
// Pods that say nothing count so that they cause no change, and a fall of traffic counts only
// once it has lasted.
package scale

import (
	"math"
	"slices"
	"time"
)

const (
	// tolerance is how far the traffic may be from what the Pods are for, without a change.
	tolerance = 0.1
	// sliver is the share of a Pod for which there is no other Pod: what is measured of three times
	// the threshold is a little more or less, and asks for three Pods.
	sliver = 0.1
	// patience is how long the traffic must be less before Pods go.
	patience = 5 * time.Minute
	// pace is the time in which the number at most doubles, or grows by stride if that is more.
	pace   = 15 * time.Second
	stride = 4
	// grain is how exactly the past is kept: of each such time its greatest recommendation.
	grain = 5 * time.Second
)

// Bounds are what the spec says.
type Bounds struct {
	// Threshold is how many requests per second one Pod is to serve.
	Threshold int32
	Min, Max  int32
	// Soft is that the spec does not give Max: Pods above it go as after a fall of traffic, and not at once.
	Soft bool
}

// Reading is what is known of the traffic of the last 30 seconds.
type Reading struct {
	// Asked is how many Pods are ready, and Known of how many of them the rate is known.
	Asked, Known int32
	// RequestsPerSecond are those of the known Pods together.
	RequestsPerSecond float64
}

// IsKnown reports whether any Pod said how much it served.
func (r *Reading) IsKnown() bool {
	return r.Known > 0 && r.RequestsPerSecond >= 0 && !math.IsInf(r.RequestsPerSecond, 0) && !math.IsNaN(r.RequestsPerSecond)
}

// Memory is what matters of the past. The zero value is that of an operator that has just
// started, or that kept its hands off: it takes no Pod away before the patience is over.
type Memory struct {
	// Since is from when on the past is known.
	Since time.Time
	// Past are the recommendations, oldest first, one at most for each grain.
	Past []Recommendation
	// Steps are the numbers of Pods that there were, oldest first.
	Steps []Recommendation
}

// Recommendation is a number of Pods at a time.
type Recommendation struct {
	At   time.Time
	Pods int32
}

// Input is all that a decision depends on.
type Input struct {
	Now    time.Time
	Bounds Bounds
	// Present is how many Pods the Deployment has by its spec.
	Present int32
	Reading Reading
	Memory  Memory
}

// Verdict is how many Pods there are to be.
type Verdict struct {
	Desired int32
	// Known is whether the traffic is: where it is not, the number stays within the bounds that
	// the spec gives.
	Known  bool
	Memory Memory
	// Recheck is when the same reading may lead to another number; 0 is never.
	Recheck time.Duration
}

// Decide decides. It does not change the Input.
func Decide(in Input) Verdict {
	memory := in.Memory.at(in.Now, in.Present)
	if !in.Reading.IsKnown() {
		return Verdict{Desired: in.Bounds.hard(in.Present), Memory: memory}
	}
	wanted := in.Bounds.all(recommend(&in.Bounds, &in.Reading, in.Present))
	memory.Past = noted(memory.Past, in.Now, wanted, most)
	desired := wanted
	switch {
	case wanted > in.Present:
		desired = min(wanted, max(in.Present, memory.ceiling()))
	case wanted < in.Present:
		desired = min(in.Present, memory.greatest(in.Now, in.Present))
	}
	desired = in.Bounds.hard(desired)
	verdict := Verdict{Desired: desired, Known: true, Memory: memory}
	switch {
	case desired < wanted:
		verdict.Recheck = memory.Steps[0].At.Add(pace).Sub(in.Now)
	case desired > wanted:
		verdict.Recheck = memory.relents(in.Now, desired)
	}
	if desired != wanted {
		verdict.Recheck = max(verdict.Recheck, time.Second)
	}
	return verdict
}

// recommend is how many Pods the traffic needs, whatever the past. Pods that say nothing count
// as idle where there should be more, and as busy where there should be fewer.
func recommend(bounds *Bounds, reading *Reading, present int32) int32 {
	threshold := float64(max(bounds.Threshold, 1))
	unknown := float64(max(reading.Asked-reading.Known, 0))
	idle := reading.RequestsPerSecond / threshold
	busy := idle + unknown
	pods := float64(present)
	switch {
	case present <= 0:
		return pieces(idle)
	case idle > pods*(1+tolerance):
		return pieces(idle)
	// Fewer Pods must have room for the traffic, too: the tolerance does not let them be
	// overloaded.
	case busy < pods*(1-tolerance):
		return min(pieces(busy), present)
	default:
		return present
	}
}

// pieces is a number of Pods that has room for a share of the traffic, but for a sliver, and fits an int32.
func pieces(share float64) int32 { return int32(min(math.Ceil(max(share-sliver, 0)), math.MaxInt32)) }

// all applies all bounds.
func (b *Bounds) all(pods int32) int32 { return max(min(pods, b.Max), b.Min) }

// hard applies the bounds that hold at once.
func (b *Bounds) hard(pods int32) int32 {
	if b.Soft {
		return max(pods, b.Min)
	}
	return b.all(pods)
}

// at is a memory without what is too old to matter, and with the present number of Pods.
func (m *Memory) at(now time.Time, present int32) Memory {
	// A clock that was set back begins the past again.
	if m.Since.IsZero() || m.Since.After(now) {
		return Memory{Since: now, Steps: []Recommendation{{now, present}}}
	}
	kept := Memory{Since: m.Since, Past: since(m.Past, now.Add(-patience)), Steps: since(m.Steps, now.Add(-pace))}
	kept.Steps = noted(kept.Steps, now, present, least)
	return kept
}

// since are those at or after a time, in a list of their own.
func since(all []Recommendation, begin time.Time) []Recommendation {
	kept := make([]Recommendation, 0, len(all)+1)
	for _, r := range all {
		if !r.At.Before(begin) {
			kept = append(kept, r)
		}
	}
	return kept
}

func most(a, b int32) int32  { return max(a, b) }
func least(a, b int32) int32 { return min(a, b) }

// noted adds a number to a list that it may change. Of those within a grain one stays, at the
// time of the last: nothing is forgotten too early.
func noted(all []Recommendation, now time.Time, pods int32, stays func(a, b int32) int32) []Recommendation {
	if last := len(all) - 1; last >= 0 && now.Truncate(grain).Equal(all[last].At.Truncate(grain)) {
		all[last] = Recommendation{now, stays(all[last].Pods, pods)}
		return all
	}
	return append(all, Recommendation{now, pods})
}

// ceiling is how many Pods there may be now, by how few there were within the pace.
func (m *Memory) ceiling() int32 {
	fewest := slices.MinFunc(m.Steps, func(a, b Recommendation) int { return int(a.Pods) - int(b.Pods) }).Pods
	return max(2*fewest, fewest+stride)
}

// greatest is the greatest recommendation of the last while; before the past is known for so
// long, it is the present number at least.
func (m *Memory) greatest(now time.Time, present int32) int32 {
	greatest := int32(0)
	if now.Sub(m.Since) < patience {
		greatest = present
	}
	for _, r := range m.Past {
		greatest = max(greatest, r.Pods)
	}
	return greatest
}

// relents is when the number may become less at the earliest.
func (m *Memory) relents(now time.Time, desired int32) time.Duration {
	until := m.Since
	for _, r := range m.Past {
		if r.Pods >= desired {
			until = r.At
		}
	}
	return until.Add(patience).Sub(now) + time.Millisecond
}
