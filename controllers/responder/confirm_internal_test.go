package responder

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/controllers/responder/internal/decide"
)

// crowdedReader has too much to read about one Service, and nothing about others. It has time for so many such answers.
type crowdedReader struct {
	client.Reader
	crowded string
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
		if requirement.Values().Has(r.crowded) {
			if r.answers--; r.answers == 0 {
				r.end()
			}
			return fmt.Errorf("reading the answer: %w", &http.MaxBytesError{Limit: maxLive})
		}
	}
	return nil
}

// A tenant who makes the answers about one Service large and slow keeps the listeners of that one only: with time for two such
// answers in each pass, all others are confirmed in the end.
func TestAllAreConfirmedBesideOneThatIsReadSlowly(t *testing.T) {
	g := NewWithT(t)
	const crowded = "a-crowded-one"
	left := []string{crowded}
	for i := range 60 {
		left = append(left, fmt.Sprintf("gone-%d", i))
	}
	for pass := 0; len(left) > 1; pass++ {
		g.Expect(pass).To(BeNumerically("<", 200), "%d are not confirmed yet", len(left))
		ctx, end := context.WithCancel(t.Context())
		snap := &decide.Snapshot{Namespace: "shop"}
		_, _ = newConfirmation(&crowdedReader{crowded: crowded, answers: 2, end: end}, snap, left).confirmAll(ctx, left)
		left = slices.DeleteFunc(left, snap.Confirmed.Has)
		end()
	}
	g.Expect(left).To(ConsistOf(crowded))
}
