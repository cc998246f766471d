// Package ownimage finds the image that an operator runs from, for what it runs from the same one.
package ownimage

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/operator/await"
)

// managerContainer is the container that runs an operator, in config/manager.
const managerContainer = "manager"

// Of is the image of an operator's own Pod; empty, which is logged with what follows from it, where
// there is no Pod or it cannot be read.
func Of(ctx context.Context, config *rest.Config, pod types.NamespacedName, consequence string) (string, error) {
	if pod.Name == "" {
		ctrl.Log.Info("the operator does not run in a Pod: " + consequence)
		return "", nil
	}
	reader, err := client.New(await.WithTimeout(config), client.Options{})
	if err != nil {
		return "", fmt.Errorf("make a client to read the operator's own Pod: %w", err)
	}
	var own corev1.Pod
	err = await.Answer(ctx, config, func() error {
		err := reader.Get(ctx, pod, &own)
		if !fault.IsDecided(err) {
			return err
		}
		ctrl.Log.Error(err, "read the operator's own Pod: "+consequence, "pod", pod)
		return nil
	})
	at := slices.IndexFunc(own.Spec.Containers, func(c corev1.Container) bool { return c.Name == managerContainer })
	if at < 0 {
		return "", err
	}
	return own.Spec.Containers[at].Image, err
}
