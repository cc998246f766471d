package responder

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/controllers/responder/internal/decide"
)

// crowdedReader has too much to read about some Services, and nothing about others. The time of a pass is over after so many
// answers that are too large.
type crowdedReader struct {
	client.Reader
	crowded sets.Set[string]
	answers int
	end     context.CancelFunc
}

func (r *crowdedReader) List(ctx context.Context, _ client.ObjectList, options ...client.ListOption) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	asked := &client.ListOptions{}
	asked.ApplyOptions(options)
	requirements, _ := asked.LabelSelector.Requirements()
	for _, requirement := range requirements {
		if requirement.Values().HasAny(r.crowded.UnsortedList()...) {
			r.answers--
			if r.answers == 0 {
				r.end()
			}
			return fmt.Errorf("reading the answer: %w", &http.MaxBytesError{Limit: maxLive})
		}
	}
	return nil
}

// A tenant who makes the answers about some Services large and slow keeps the listeners of those only: where two such answers
// take the time of a pass, all others are confirmed in the end.
func TestAllAreConfirmedBesideThoseThatAreReadSlowly(t *testing.T) {
	for sentence, crowded := range map[string]sets.Set[string]{
		"one":                  sets.New("a"),
		"half of them, nearly": sets.New("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"),
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			left := crowded.UnsortedList()
			for i := range 30 {
				left = append(left, fmt.Sprintf("gone-%d", i))
			}
			for pass := 0; len(left) > len(crowded); pass++ {
				g.Expect(pass).To(BeNumerically("<", 500), "%d are not confirmed yet", len(left))
				ctx, end := context.WithCancel(t.Context())
				snap := &decide.Snapshot{Namespace: "shop"}
				_, _ = newConfirmation(&crowdedReader{crowded: crowded, answers: 2, end: end}, snap, left).confirmAll(ctx, left)
				left = slices.DeleteFunc(left, snap.Confirmed.Has)
				end()
			}
			g.Expect(left).To(ConsistOf(crowded.UnsortedList()))
		})
	}
}
