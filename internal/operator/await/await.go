// Package await waits for the API server at the start of an operator.
package await

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

const (
	// requestTimeout is how long one attempt to reach the API server may take.
	requestTimeout = 5 * time.Second
	retryPeriod    = 1 * time.Second
)

// APIServer waits until the API server answers, also if it denies the request.
// A process that exited instead would be restarted more and more rarely
// (CrashLoopBackOff), and be late when the API server is back.
func APIServer(ctx context.Context, config *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(WithTimeout(config))
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	return Answer(ctx, config, func() error {
		_, err := client.ServerVersion()
		if fault.IsDecided(err) {
			return nil
		}
		return err
	})
}

// Answer retries a request until it is answered.
func Answer(ctx context.Context, config *rest.Config, ask func() error) error {
	err := wait.PollUntilContextCancel(ctx, retryPeriod, true, func(context.Context) (bool, error) {
		err := ask()
		if err != nil {
			ctrl.Log.Info("the API server does not answer, retrying", "server", config.Host, "error", err.Error())
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the API server %s: %w", config.Host, err)
	}
	return nil
}

// WithTimeout is a configuration by which one attempt takes a few seconds at most.
func WithTimeout(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Timeout = requestTimeout
	return config
}
