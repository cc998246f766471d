package operator

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/critical-service/operator/internal/controller/fault"
)

// requestTimeout is how long one attempt to reach the API server may take.
const requestTimeout = 5 * time.Second

// awaitAPIServer waits until the API server answers, also if it denies the request.
// A process that exited instead would be restarted more and more rarely
// (CrashLoopBackOff), and be late when the API server is back.
func awaitAPIServer(ctx context.Context, config *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(withTimeout(config))
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	return untilAnswered(ctx, config.Host, func() error {
		_, err := client.ServerVersion()
		if fault.IsDecided(err) {
			return nil
		}
		return err
	})
}

// untilAnswered retries a request until it is answered.
func untilAnswered(ctx context.Context, server string, ask func() error) error {
	err := wait.PollUntilContextCancel(ctx, retryPeriod, true, func(context.Context) (bool, error) {
		err := ask()
		if err != nil {
			ctrl.Log.Info("the API server does not answer, retrying", "server", server, "error", err.Error())
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the API server %s: %w", server, err)
	}
	return nil
}

func withTimeout(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Timeout = requestTimeout
	return config
}
