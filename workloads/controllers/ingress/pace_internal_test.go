package ingress

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/critical-service/operator/workloads/controllers/ingress/internal/decide"
)

// turns is a pace that says when a write has its turn.
type turns struct {
	flowcontrol.RateLimiter
	wait func(context.Context) error
}

func (t turns) Wait(ctx context.Context) error { return t.wait(ctx) }

func TestAWriteWaitsForItsTurn(t *testing.T) {
	ends := errors.New("the operator ends")
	for sentence, c := range map[string]struct {
		turn error
		want int
	}{
		"it is written when it has its turn": {nil, 1},
		"and not without one":                {ends, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			asked, written := 0, 0
			r := &Reconciler{
				client: interceptor.NewClient(nil, interceptor.Funcs{
					Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
						g.Expect(asked).To(Equal(1), "the turn comes first")
						written++
						return nil
					},
				}),
				pace: turns{wait: func(context.Context) error { asked++; return c.turn }},
			}
			one := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
			err := r.apply(t.Context(), one, &decide.Plan{Write: true})
			if c.turn != nil {
				g.Expect(err).To(MatchError(c.turn))
			} else {
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(written).To(Equal(c.want))
		})
	}
}
