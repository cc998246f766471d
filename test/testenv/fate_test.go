package testenv_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/testenv"
)

var write = testenv.Request{Method: http.MethodPost, Path: "/api/v1/namespaces/shop/pods"}

// The story of three writes, each of which is sent until it succeeds.
func TestOneWriteInThreeHasAMishapAndByFaultsEachHasAll(t *testing.T) {
	for faults, counts := range map[string][]int{"": {1, 1, 0, 0}, "few": {1, 9, 3, 3}, "all": {1, 27, 6, 6}} {
		t.Run("FAULTS="+faults, func(t *testing.T) {
			t.Setenv("FAULTS", faults)
			NewWithT(t).Expect(counted(t)).To(Equal(counts))
		})
	}
}

// counted are how often all goes well, a write is lost, and the operator dies and is followed.
func counted(t *testing.T) []int {
	t.Helper()
	read := testenv.Request{Method: http.MethodGet, Path: write.Path}
	event := testenv.Request{Method: http.MethodPost, Path: "/apis/events.k8s.io/v1/namespaces/shop/events"}
	var happy, lost, died, succeeded int
	testenv.WhicheverWriteGoesWrong(t, 3, func(t *testing.T, fate *testenv.Fate) string {
		var replaced atomic.Bool
		over := make(chan struct{})
		fate.Succeed(t, func() { replaced.Store(true); close(over) })
		if fate.IsHappy() {
			happy++
		}
		for range 3 {
			for fate.Interfere(write) != testenv.Pass {
				lost++
				if fate.Interfere(read) == testenv.Lose {
					died++
					<-over
					succeeded++
					return "the end"
				}
			}
			NewWithT(t).Expect(fate.Interfere(event)).To(Equal(testenv.Pass))
		}
		return "the end"
	})
	return []int{happy, lost, died, succeeded}
}

// The story takes its write undisturbed, and again when each of three faults has been tried twice.
func TestAFaultThatDoesNotComeIsTriedThreeTimes(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("FAULTS", "few")
	lives, struck := 0, 0
	testenv.WhicheverWriteGoesWrong(t, 1, func(_ *testing.T, fate *testenv.Fate) string {
		lives++
		if lives == 1 || lives > 7 {
			if fate.Interfere(write) != testenv.Pass {
				struck++
			}
		}
		return "the end"
	})
	g.Expect(lives).To(Equal(10))
	g.Expect(struck).To(Equal(3))
}

func TestWhatAFateSparesIsNoWriteOfTheStory(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("FAULTS", "")
	spared := 0
	testenv.WhicheverWriteGoesWrong(t, 1, func(_ *testing.T, fate *testenv.Fate) string {
		fate.Spares = func(r testenv.Request) bool { return r.Resource() == "pods" }
		if fate.Interfere(write) == testenv.Pass {
			spared++
		}
		fate.Interfere(testenv.Request{Method: http.MethodPost, Path: "/api/v1/namespaces/shop/services"})
		return ""
	})
	g.Expect(spared).To(Equal(2))
}

// A story that has a write less for once is lived again.
func TestAMishapThatDoesNotComeIsTriedAgain(t *testing.T) {
	t.Setenv("FAULTS", "")
	lives, lost := 0, 0
	testenv.WhicheverWriteGoesWrong(t, 4, func(_ *testing.T, fate *testenv.Fate) string {
		lives++
		for number := range 4 {
			if lives == 3 && number == 3 {
				break
			}
			if fate.Interfere(write) != testenv.Pass {
				lost++
			}
		}
		return "the end"
	})
	g := NewWithT(t)
	g.Expect(lives).To(Equal(4), "undisturbed, the first write, and the fourth one twice")
	g.Expect(lost).To(Equal(2))
}

// On a busy machine, the first life may take many writes that never come again.
func TestAWriteThatNeverComesAgainIsNoneOfTheStory(t *testing.T) {
	t.Setenv("FAULTS", "few")
	lost := 0
	testenv.WhicheverWriteGoesWrong(t, 4, func(_ *testing.T, fate *testenv.Fate) string {
		writes := 4
		if fate.IsHappy() {
			writes = 12
		}
		for range writes {
			if fate.Interfere(write) != testenv.Pass {
				lost++
				break
			}
		}
		return "the end"
	})
	NewWithT(t).Expect(lost).To(Equal(4*3), "each of four writes is lost in three ways")
}

// Two writes of different resources may come in any order: the mishap befalls the same one.
func TestAMishapBefallsTheSameWriteInAnyOrder(t *testing.T) {
	t.Setenv("FAULTS", "")
	other := testenv.Request{Method: http.MethodPost, Path: "/api/v1/namespaces/shop/services"}
	lives := [][]testenv.Request{{write, other}, {other, write}}
	var lost []testenv.Request
	testenv.WhicheverWriteGoesWrong(t, 2, func(_ *testing.T, fate *testenv.Fate) string {
		for _, r := range lives[0] {
			if fate.Interfere(r) != testenv.Pass {
				lost = append(lost, r)
			}
		}
		lives = lives[1:]
		return "the end"
	})
	NewWithT(t).Expect(lost).To(Equal([]testenv.Request{write}))
}
