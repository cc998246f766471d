package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
)

// answerWithin is how long one look for the API server may take.
const answerWithin = 5 * time.Second

// awaitAPIServer waits until the API server answers, be it with a refusal. A
// process that ended each time it does not would be started more and more rarely
// (CrashLoopBackOff), and be late when the API server is back.
func awaitAPIServer(ctx context.Context, config *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(impatient(config))
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	return untilAnswered(ctx, config.Host, func() error {
		_, err := client.ServerVersion()
		if refused(err) {
			return nil
		}
		return err
	})
}

// untilAnswered asks again and again, until there is an answer.
func untilAnswered(ctx context.Context, server string, ask func() error) error {
	err := wait.PollUntilContextCancel(ctx, retryPeriod, true, func(context.Context) (bool, error) {
		err := ask()
		if err != nil {
			ctrl.Log.Info("the API server does not answer, asking again", "server", server, "error", err.Error())
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the API server %s: %w", server, err)
	}
	return nil
}

// refused tells an answer that says no from none at all.
func refused(err error) bool {
	answer := apierrors.APIStatus(nil)
	return errors.As(err, &answer)
}

func impatient(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Timeout = answerWithin
	return config
}
