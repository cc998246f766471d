package traffic

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

// life is when a Pod began and ended to be read, each five seconds, and how much it served then.
type life struct {
	from, to  int
	perSecond float64
}

func TestTheTrafficIsThatOfAllPodsTogether(t *testing.T) {
	begin := time.Unix(1_700_000_000, 0)
	for sentence, c := range map[string]struct {
		pods map[types.UID][]life
		now  int
		rate float64
	}{
		"one Pod serves all of it": {map[types.UID][]life{"a": {{0, 60, 30}}}, 60, 30},
		"what new Pods take over counts once": {
			map[types.UID][]life{"a": {{0, 40, 30}, {45, 50, 10}}, "b": {{40, 50, 10}}, "c": {{40, 50, 10}}}, 50, 30,
		},
		"what a Pod served before it went counts": {
			map[types.UID][]life{"a": {{0, 60, 15}}, "b": {{0, 45, 15}}}, 50, 27.5,
		},
		"a Pod that went long ago does not": {
			map[types.UID][]life{"a": {{0, 100, 30}}, "b": {{0, 20, 30}}}, 100, 30,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			var of app
			counts := map[types.UID]float64{}
			for second := 0; second <= c.now; second += 5 {
				now := begin.Add(time.Duration(second) * time.Second)
				there := map[types.UID]*series{}
				for uid, times := range c.pods {
					for _, p := range times {
						if second < p.from || second > p.to {
							continue
						}
						if there[uid] = of.pods[uid]; there[uid] == nil {
							there[uid] = &series{}
						} else {
							counts[uid] += 5 * p.perSecond
						}
						there[uid].add(now, counts[uid])
					}
				}
				of.keep(there, now)
			}
			g.Expect(of.read(begin.Add(time.Duration(c.now) * time.Second)).RequestsPerSecond).To(BeNumerically("~", c.rate, 0.01))
		})
	}
}

func TestPodsThatWentAreFew(t *testing.T) {
	g := NewWithT(t)
	var of app
	now := time.Unix(1_700_000_000, 0)
	for range 10 {
		many := map[types.UID]*series{}
		for i := range maxPods {
			s := &series{}
			s.add(now, 0)
			s.add(now.Add(time.Second), 1)
			many[types.UID(now.String()+string(rune(i)))] = s
		}
		of.keep(many, now)
		now = now.Add(2 * time.Second)
	}
	g.Expect(len(of.gone)).To(BeNumerically("<=", maxPods))
	of.keep(nil, now.Add(time.Hour))
	g.Expect(of.gone).To(BeEmpty())
}
