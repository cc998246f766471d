//go:build e2e

package autoscale

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
)

// floor is how many Pods the page asks for: one, which a machine of two cores can bring to its limit.
const floor = 1

// share is how many requests each Pod answers at least before the load goes.
const share = 2000

func TestAResponderScalesWithItsLoad(t *testing.T) {
	s := newShop(t)
	s.Eventually(s.look).Should(Equal(all(floor)))
	stop := s.visitors()

	load := startLoad(s.ctx, s.address())
	t.Cleanup(load.stop)
	s.Eventually(s.look).Should(haveGrown(), "Pods while everyone asks")
	s.Eventually(s.answers).Should(And(haveMoreThan(floor), HaveEach(BeNumerically(">", share))), "answers of each Pod")
	answered, lost := load.end()
	s.logf("the load has gone: %d answered, %d lost", answered, len(lost))
	s.Expect(lost).To(BeEmpty(), "requests without an answer while it grew")

	s.Eventually(s.look).WithTimeout(later).Should(Equal(all(floor)), "Pods while few ask")
	results := stop()
	s.logf("%d visitors", len(results))
	for _, result := range results {
		s.Expect(result).To(HaveField("By", "page"), "what a visitor gets, whatever the number of Pods")
	}
	s.Expect(results).NotTo(BeEmpty())
}

// haveGrown is more Pods than the page asks for, no more than the setting allows, all of them published.
func haveGrown() types.GomegaMatcher {
	return Satisfy(func(now sight) bool { return now.Wanted > floor && now.Wanted <= most && now == all(now.Wanted) })
}

func haveMoreThan(pods int) types.GomegaMatcher {
	return WithTransform(func(counts []int) int { return len(counts) }, BeNumerically(">", pods))
}
