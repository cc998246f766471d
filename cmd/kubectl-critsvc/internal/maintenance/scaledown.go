package maintenance

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// takeAway scales the application to zero, if that is wanted. What it is owed is
// recorded in the ConfigMap already.
func (a *announcement) takeAway(ctx context.Context, config *corev1.ConfigMap) error {
	if a.workload == nil {
		return nil
	}
	wanted, err := a.wanted()
	if err != nil {
		return err
	}
	if wanted {
		a.scaled = true
		return a.workload.ScaleDown(ctx, a.client)
	}
	return a.oweNothing(ctx, config)
}

// wanted reports whether the application is to be scaled to zero: the user is asked.
func (a *announcement) wanted() (bool, error) {
	for _, note := range a.workload.Notes {
		fmt.Fprintf(a.to.ErrOut, "warning: %s\n", note)
	}
	if a.yes {
		return true, nil
	}
	return confirm(a.to, fmt.Sprintf("The page is prepared. Scale %s in namespace %q from %d to 0 now?", a.workload, a.name.Namespace, a.workload.Replicas))
}

// oweNothing takes out of the ConfigMap what the application would be owed, as it was
// not scaled.
func (a *announcement) oweNothing(ctx context.Context, config *corev1.ConfigMap) error {
	a.m.Workload = nil
	settled := config.DeepCopy()
	settled.Data = a.m.Data()
	if err := a.client.Patch(ctx, settled, client.MergeFrom(config), fieldOwner); err != nil {
		return fmt.Errorf("record that %s is owed nothing: %w", a.workload, err)
	}
	return nil
}
