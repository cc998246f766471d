package store_test

import (
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/internal/controller/store"
)

func TestAMapKeepsTheLastValue(t *testing.T) {
	g := NewWithT(t)
	var kept store.Map[string, int]
	g.Expect(kept.Get("a")).To(BeNil())
	kept.Delete("a")
	kept.Set("a", 1)
	kept.Set("a", 2)
	kept.Set("b", 3)
	g.Expect(*kept.Get("a")).To(Equal(2))
	g.Expect(kept.Keys()).To(ConsistOf("a", "b"))
	g.Expect(kept.Count(func(value *int) bool { return *value > 2 })).To(Equal(1))
	kept.Delete("a")
	g.Expect(kept.Get("a")).To(BeNil())
	g.Expect(kept.Keys()).To(ConsistOf("b"))
}

func TestAValueIsReplacedAndNotChanged(t *testing.T) {
	g := NewWithT(t)
	var kept store.Map[string, int]
	kept.Set("a", 1)
	first := kept.Get("a")
	g.Expect(*kept.Update("a", func(last *int) *int { return new(*last + 1) })).To(Equal(2))
	g.Expect(*first).To(Equal(1))
	g.Expect(kept.Update("a", func(*int) *int { return nil })).To(BeNil())
	g.Expect(kept.Keys()).To(BeEmpty())
}

func TestNoUpdateIsLost(t *testing.T) {
	g := NewWithT(t)
	var kept store.Map[string, int]
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			kept.Update("a", func(last *int) *int {
				if last == nil {
					return new(1)
				}
				return new(*last + 1)
			})
		})
	}
	group.Wait()
	g.Expect(*kept.Get("a")).To(Equal(100))
}
