package maintenance

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/protection"
)

// takeAway scales the application down, if that is wanted. What it is owed stands in
// the ConfigMap already.
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

// wanted asks whether the application is to be taken away.
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
// not taken away.
func (a *announcement) oweNothing(ctx context.Context, config *corev1.ConfigMap) error {
	a.m.Workload = nil
	settled := config.DeepCopy()
	settled.Data = a.m.Data()
	if err := a.client.Patch(ctx, settled, client.MergeFrom(config), fieldOwner); err != nil {
		return fmt.Errorf("note that %s is owed nothing: %w", a.workload, err)
	}
	return nil
}

// tell says what holds now, how it ends, and how it can be ended.
func (a *announcement) tell() error {
	fmt.Fprintf(a.to.Out, "service/%s: a maintenance is announced%s.\n", a.name.Name, a.ending())
	switch {
	case a.scaled:
		fmt.Fprintf(a.to.Out, "%s is scaled from %d to 0. The page answers as soon as its Pods are gone.\n", a.workload, a.workload.Replicas)
	case a.taken:
		fmt.Fprintf(a.to.Out, "%s was taken away before, and has %d replicas to get back.\n", a.m.Workload, a.m.Workload.Replicas)
	default:
		fmt.Fprintln(a.to.Out, "The application keeps the traffic as long as it is ready. The page answers as soon as it is gone.")
	}
	if !protection.CanHavePage(a.service) {
		fmt.Fprintln(a.to.Out, "The Service can have no page (it is headless, or has no TCP port): its own fallback answers, and nobody reads the message.")
	}
	switch {
	case a.m.Until == nil:
		fmt.Fprintln(a.to.Out, "It has no end. To end it:")
	case a.scaled, a.taken:
		fmt.Fprintln(a.to.Out, "At its end the operator gives the application back, and shows the page until it answers. To end it sooner:")
	default:
		fmt.Fprintln(a.to.Out, "At its end the operator removes the announcement. To end it sooner:")
	}
	_, err := fmt.Fprintf(a.to.Out, "  kubectl critsvc maintenance off svc/%s -n %s\n", a.name.Name, a.name.Namespace)
	return err
}

func (a *announcement) ending() string {
	if a.m.Until == nil {
		return ""
	}
	return fmt.Sprintf(" until %s (in %s)", a.m.Until.Local().Format(time.RFC3339), time.Until(a.m.Until.Time).Round(time.Second))
}
