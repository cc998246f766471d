package appconfig

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestOneNamespaceCannotTakeAllSearches(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	p := newPace()
	greedy, modest := 0, 0
	for second := range 600 {
		now = now.Add(time.Second)
		for range 100 {
			if p.allow("greedy", now) {
				greedy++
			}
		}
		if second%60 == 59 && p.allow("modest", now) {
			modest++
		}
	}
	g.Expect(modest).To(Equal(10), "it asks once a minute, after the greedy one has asked a hundred times")
	g.Expect(greedy).To(And(BeNumerically(">", 100), BeNumerically("<", 130)))
}

func TestAllNamespacesTogetherAreBounded(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	p := newPace()
	all := 0
	for range 100 {
		now = now.Add(time.Second)
		for i := range 1000 {
			if p.allow(fmt.Sprint("ns-", i), now) {
				all++
			}
		}
		g.Expect(len(p.each)).To(BeNumerically("<=", 50), "what is remembered is bounded, too")
	}
	g.Expect(all).To(Equal(200))
}
