package endpoints_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/endpoints"
)

func TestAStatusThatIsLateIsReadAgain(t *testing.T) {
	for sentence, test := range map[string]struct {
		late, looks int
		slow        time.Duration
		fails       error
	}{
		"not one that says what is":                       {late: 0, looks: 1},
		"until it says it":                                {late: 2, looks: 3},
		"until the operator has had its time":             {late: 99, looks: 4},
		"not if it cannot be read":                        {late: 99, looks: 1, fails: errors.New("no")},
		"twice at least, from a cluster that is slow":     {late: 99, looks: 2, slow: 5 * time.Second},
		"and what was read last counts of a slow cluster": {late: 1, looks: 2, slow: 5 * time.Second},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				looks := 0
				last, err := endpoints.Settled(t.Context(), func() (int, error) {
					looks++
					<-time.After(test.slow)
					return looks, test.fails
				}, func(look int) bool { return look <= test.late })
				g.Expect(looks).To(Equal(test.looks))
				g.Expect(last).To(Equal(looks))
				if test.fails != nil {
					g.Expect(err).To(MatchError(test.fails))
				} else {
					g.Expect(err).NotTo(HaveOccurred())
				}
			})
		})
	}
}

func TestAnInterruptEndsTheWaitForTheOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		_, err := endpoints.Settled(ctx, func() (bool, error) { return true, nil }, func(late bool) bool { return late })
		NewWithT(t).Expect(err).To(MatchError(context.Canceled))
	})
}
