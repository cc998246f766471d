package scale_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/workloads/controllers/webapp/internal/scale"
)

var begin = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

const tick = 5 * time.Second

var bounds = scale.Bounds{Threshold: 100, Min: 1, Max: 10}

// known is a reading of so many Pods, all of which are known.
func known(pods int32, rate float64) scale.Reading {
	return scale.Reading{Asked: pods, Known: pods, RequestsPerSecond: rate}
}

// long is a memory of an operator that has run for a while, with one number of Pods.
func long(pods int32) scale.Memory {
	return scale.Memory{Since: begin.Add(-time.Hour), Steps: []scale.Recommendation{{At: begin.Add(-14 * time.Second), Pods: pods}}}
}

func TestTheNumberOfPodsFollowsTheTraffic(t *testing.T) {
	for sentence, c := range map[string]struct {
		present int32
		reading scale.Reading
		bounds  scale.Bounds
		memory  scale.Memory
		want    int32
	}{
		"three times the threshold needs three Pods":             {1, known(1, 300), bounds, long(1), 3},
		"and a little more, as it is measured, needs no other":   {1, known(1, 309), bounds, long(1), 3},
		"a part of a Pod's traffic needs a whole Pod":            {1, known(1, 211), bounds, long(1), 3},
		"a little more than the threshold is tolerated":          {1, known(1, 110), bounds, long(1), 1},
		"more than the tolerance is not":                         {1, known(1, 111), bounds, long(1), 2},
		"a little less is tolerated":                             {10, known(10, 901), bounds, long(10), 10},
		"a fall of traffic that has lasted lets Pods go":         {10, known(10, 200), bounds, long(10), 2},
		"after a start no Pod goes":                              {10, known(10, 200), bounds, scale.Memory{}, 10},
		"after a start Pods may come":                            {1, known(1, 300), bounds, scale.Memory{}, 3},
		"there are at most maxReplicas":                          {8, known(8, 5000), bounds, long(8), 10},
		"and at least minReplicas":                               {3, known(3, 0), scale.Bounds{Threshold: 100, Min: 2, Max: 10}, long(3), 2},
		"the number at most grows by four at once where few":     {1, known(1, 900), bounds, long(1), 5},
		"and at most doubles where many":                         {20, known(20, 9000), scale.Bounds{Threshold: 100, Min: 1, Max: 500}, long(20), 40},
		"a given bound that became less holds at once":           {40, known(40, 4000), bounds, long(40), 10},
		"one that was not given waits as a fall of traffic":      {40, known(40, 4000), scale.Bounds{Threshold: 100, Min: 1, Max: 10, Soft: true}, scale.Memory{}, 40},
		"and is not exceeded by new Pods":                        {8, known(8, 4000), scale.Bounds{Threshold: 100, Min: 1, Max: 10, Soft: true}, long(8), 10},
		"a least number that became more holds at once":          {1, known(1, 0), scale.Bounds{Threshold: 100, Min: 5, Max: 10}, long(1), 5},
		"unknown Pods count as busy where fewer are wanted":      {4, scale.Reading{Asked: 4, Known: 2, RequestsPerSecond: 100}, bounds, long(4), 3},
		"and as idle where more are":                             {2, scale.Reading{Asked: 2, Known: 1, RequestsPerSecond: 150}, bounds, long(2), 2},
		"without a Pod that says anything the number stays":      {7, scale.Reading{Asked: 7}, bounds, long(7), 7},
		"but within the bounds that were given":                  {40, scale.Reading{Asked: 40}, bounds, long(40), 10},
		"a rate that is no number is unknown":                    {7, known(7, math.NaN()), bounds, long(7), 7},
		"an infinite rate is unknown":                            {7, known(7, math.Inf(1)), bounds, long(7), 7},
		"a negative rate is unknown":                             {7, known(7, -5), bounds, long(7), 7},
		"a huge rate wants the most":                             {7, known(7, math.MaxFloat64), bounds, long(7), 10},
		"a threshold that the schema refuses divides by no zero": {1, known(1, 3), scale.Bounds{Min: 1, Max: 10}, long(1), 3},
		"from no Pod there is a way back":                        {0, known(1, 90), bounds, long(0), 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := scale.Decide(scale.Input{Now: begin, Bounds: c.bounds, Present: c.present, Reading: c.reading, Memory: c.memory})
			NewWithT(t).Expect(got.Desired).To(Equal(c.want))
		})
	}
}

// history is a WebApp whose number of Pods is what was decided, over time.
type history struct {
	now     time.Time
	present int32
	memory  scale.Memory
	bounds  scale.Bounds
}

func (h *history) step(reading scale.Reading) scale.Verdict {
	v := scale.Decide(scale.Input{Now: h.now, Bounds: h.bounds, Present: h.present, Reading: reading, Memory: h.memory})
	h.present, h.memory, h.now = v.Desired, v.Memory, h.now.Add(tick)
	return v
}

func TestAFallOfTrafficCountsOnceItHasLasted(t *testing.T) {
	g := NewWithT(t)
	h := history{now: begin, present: 1, bounds: bounds}
	for range 4 {
		h.step(known(h.present, 300))
	}
	g.Expect(h.present).To(Equal(int32(3)))
	high := h.now.Add(-tick)
	for h.now.Sub(high) <= 5*time.Minute {
		h.step(known(h.present, 50))
		g.Expect(h.present).To(Equal(int32(3)), "%s after the traffic fell", h.now.Sub(high))
	}
	h.step(known(h.present, 50))
	g.Expect(h.present).To(Equal(int32(1)))
}

func TestItSaysWhenTheSameTrafficNeedsAnotherNumber(t *testing.T) {
	g := NewWithT(t)
	up := scale.Decide(scale.Input{Now: begin, Bounds: bounds, Present: 1, Reading: known(1, 900)})
	g.Expect(up.Desired).To(Equal(int32(5)))
	g.Expect(up.Recheck).To(Equal(15 * time.Second))
	down := scale.Decide(scale.Input{Now: begin, Bounds: bounds, Present: 5, Reading: known(5, 50)})
	g.Expect(down.Desired).To(Equal(int32(5)))
	later := scale.Decide(scale.Input{Now: begin.Add(down.Recheck), Bounds: bounds, Present: 5, Reading: known(5, 50), Memory: down.Memory})
	g.Expect(later.Desired).To(Equal(int32(1)))
	settled := scale.Decide(scale.Input{Now: begin, Bounds: bounds, Present: 3, Reading: known(3, 300), Memory: long(3)})
	g.Expect(settled.Recheck).To(BeZero())
}

// worlds runs seeded random histories: traffic that jumps, Pods that say nothing, changed bounds
// and restarts.
func worlds(t *testing.T, check func(g Gomega, h *history, before history, reading scale.Reading, v scale.Verdict)) {
	t.Helper()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 7))
		h := history{now: begin, present: random.Int32N(20), bounds: randomBounds(random)}
		rate := 0.0
		for step := range 150 {
			switch random.IntN(20) {
			case 0:
				rate = random.Float64() * 5000
			case 1:
				h.memory = scale.Memory{}
			case 2:
				h.bounds = randomBounds(random)
			}
			reading := scale.Reading{Asked: h.present, Known: h.present, RequestsPerSecond: rate}
			if random.IntN(4) == 0 && h.present > 0 {
				reading.Known = random.Int32N(h.present + 1)
			}
			before := *h.copy()
			v := h.step(reading)
			g := NewWithT(t)
			check(g, &h, before, reading, v)
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, step)
			}
		}
	}
}

func (h *history) copy() *history {
	c := *h
	c.memory.Past = append([]scale.Recommendation(nil), h.memory.Past...)
	c.memory.Steps = append([]scale.Recommendation(nil), h.memory.Steps...)
	return &c
}

func randomBounds(random *rand.Rand) scale.Bounds {
	least := 1 + random.Int32N(5)
	return scale.Bounds{Threshold: 1 + random.Int32N(300), Min: least, Max: least + random.Int32N(30), Soft: random.IntN(2) == 0}
}

func TestTheNumberIsWithinTheBounds(t *testing.T) {
	worlds(t, func(g Gomega, _ *history, before history, _ scale.Reading, v scale.Verdict) {
		g.Expect(v.Desired).To(BeNumerically(">=", before.bounds.Min))
		if !before.bounds.Soft {
			g.Expect(v.Desired).To(BeNumerically("<=", before.bounds.Max))
		} else {
			g.Expect(v.Desired).To(BeNumerically("<=", max(before.bounds.Max, before.present)), "a bound that was not given is not exceeded by new Pods")
		}
	})
}

func TestTheInputIsUnchangedAndTheSameDecidesTheSame(t *testing.T) {
	worlds(t, func(g Gomega, _ *history, before history, reading scale.Reading, v scale.Verdict) {
		in := scale.Input{Now: before.now, Bounds: before.bounds, Present: before.present, Reading: reading, Memory: before.memory}
		kept := *before.copy()
		again := scale.Decide(in)
		g.Expect(again).To(Equal(v))
		g.Expect(reflect.DeepEqual(in.Memory, kept.memory)).To(BeTrue(), "the memory is a value")
	})
}

func TestWithoutTrafficThatIsKnownNothingChangesBetweenTheBounds(t *testing.T) {
	worlds(t, func(g Gomega, _ *history, before history, reading scale.Reading, v scale.Verdict) {
		if reading.Known == 0 && before.present >= before.bounds.Min && before.present <= before.bounds.Max {
			g.Expect(v.Desired).To(Equal(before.present))
			g.Expect(v.Known).To(BeFalse())
		}
	})
}

func TestMoreTrafficNeverMeansFewerPods(t *testing.T) {
	worlds(t, func(g Gomega, _ *history, before history, reading scale.Reading, v scale.Verdict) {
		reading.RequestsPerSecond = reading.RequestsPerSecond*1.3 + 1
		more := scale.Decide(scale.Input{Now: before.now, Bounds: before.bounds, Present: before.present, Reading: reading, Memory: before.memory})
		g.Expect(more.Desired).To(BeNumerically(">=", v.Desired))
	})
}

func TestThePastIsBounded(t *testing.T) {
	worlds(t, func(g Gomega, _ *history, _ history, _ scale.Reading, v scale.Verdict) {
		g.Expect(len(v.Memory.Past)).To(BeNumerically("<=", 62))
		g.Expect(len(v.Memory.Steps)).To(BeNumerically("<=", 5))
	})
}

// Since a restart and a change of the bounds begin something new, these histories have none.
func TestEveryHistoryKeepsThePace(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 11))
		h := history{now: begin, present: 1 + random.Int32N(5), bounds: scale.Bounds{Threshold: 100, Min: 1, Max: 500}}
		pods, wants := []int32{h.present}, []int32{}
		rate := 0.0
		for range 200 {
			if random.IntN(15) == 0 {
				rate = random.Float64() * 30000
			}
			wants = append(wants, int32(math.Ceil(rate/100)))
			h.step(known(h.present, rate))
			pods = append(pods, h.present)
			now := len(pods) - 1
			fewest, greatest := pods[now-1], int32(0)
			for back := max(0, now-4); back < now; back++ {
				fewest = min(fewest, pods[back])
			}
			for back := max(0, len(wants)-60); back < len(wants); back++ {
				greatest = max(greatest, wants[back])
			}
			g := NewWithT(t)
			where := fmt.Sprintf("seed %d, step %d", seed, now)
			g.Expect(pods[now]).To(BeNumerically("<=", max(2*fewest, fewest+4)), "at most twice as many, or four more, in 15 s: "+where)
			if pods[now] < pods[now-1] {
				g.Expect(now).To(BeNumerically(">=", 60), "no Pod goes in the first 5 minutes: "+where)
				g.Expect(pods[now]).To(BeNumerically(">=", greatest*9/10), "the traffic of 5 minutes has room: "+where)
			}
		}
	}
}

func TestSteadyTrafficComesToASteadyNumber(t *testing.T) {
	for rate := 0.0; rate <= 12000; rate += 37 {
		g := NewWithT(t)
		h := history{now: begin, present: 60, bounds: scale.Bounds{Threshold: 100, Min: 1, Max: 500}}
		for range 80 {
			h.step(known(h.present, rate))
		}
		settled, exact := h.present, max(1, math.Ceil(rate/100))
		g.Expect(float64(settled)).To(BeNumerically(">=", math.Floor(exact/1.1)), "rate %v", rate)
		g.Expect(float64(settled)).To(BeNumerically("<=", math.Ceil(exact/0.9)), "rate %v", rate)
		for range 80 {
			h.step(known(h.present, rate))
			g.Expect(h.present).To(Equal(settled), "rate %v", rate)
		}
	}
}
