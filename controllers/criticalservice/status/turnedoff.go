package status

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/internal/controller/write"
)

// TurnedOff writes into the status of each ServiceFallback that the operator does not follow
// the kind: otherwise what it wrote while it did would stand there for good. It runs once,
// when this replica begins to lead, a page at a time, and watches nothing.
type TurnedOff struct {
	// Live reads the API server, and Client writes.
	Live   client.Reader
	Client client.Client
	// Namespaces are those that are watched; none means all.
	Namespaces []string
	Clock      clock.PassiveClock
}

const (
	turnedOffPage  = 10
	turnedOffRetry = 30 * time.Second
)

// Start implements manager.Runnable.
func (t *TurnedOff) Start(ctx context.Context) error {
	namespaces := t.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	_ = wait.PollUntilContextCancel(ctx, turnedOffRetry, true, func(ctx context.Context) (bool, error) {
		var failed []error
		for _, namespace := range namespaces {
			failed = append(failed, t.writeAll(ctx, namespace))
		}
		err := client.IgnoreNotFound(errors.Join(failed...))
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "write the status of ServiceFallbacks, which are turned off; retrying", "after", turnedOffRetry)
		}
		return err == nil, nil
	})
	return nil
}

// writeAll writes the statuses of a namespace, or of all if it is empty.
func (t *TurnedOff) writeAll(ctx context.Context, namespace string) error {
	var failed []error
	var page criticalv2.ServiceFallbackList
	for first := true; first || page.Continue != ""; first = false {
		err := t.Live.List(ctx, &page, client.InNamespace(namespace), client.Limit(turnedOffPage), client.Continue(page.Continue))
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		for i := range page.Items {
			failed = append(failed, client.IgnoreNotFound(t.write(ctx, &page.Items[i])))
		}
	}
	return errors.Join(failed...)
}

func (t *TurnedOff) write(ctx context.Context, fallback *criticalv2.ServiceFallback) error {
	updated := fallback.DeepCopy()
	*updated.Observed() = summary.Summarize(fallback, nil, summary.Scope{TurnedOff: true}, t.Clock.Now())
	_, err := write.Status(ctx, t.Client, fallback, updated)
	return err
}
