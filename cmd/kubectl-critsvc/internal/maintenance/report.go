package maintenance

import (
	"fmt"
	"time"

	"github.com/critical-service/operator/internal/protection"
)

// report prints what is announced now, how it ends, and how it can be ended.
func (a *announcement) report() error {
	fmt.Fprintf(a.to.Out, "service/%s: a maintenance is announced%s.\n", a.name.Name, a.ending())
	switch {
	case a.scaled():
		fmt.Fprintf(a.to.Out, "%s is scaled from %d to 0. The page answers as soon as its Pods are gone.\n", a.workload, a.workload.Replicas)
	case a.taken:
		owed := a.m.Owes()
		fmt.Fprintf(a.to.Out, "%s was scaled to zero before, and gets %d replicas back.\n", owed, owed.Replicas)
	default:
		fmt.Fprintln(a.to.Out, "The application keeps the traffic as long as it is ready. The page answers as soon as it is gone.")
	}
	if !protection.CanHavePage(a.service) {
		fmt.Fprintln(a.to.Out, "The Service can have no page (it is headless, or has no TCP port): its own fallback answers, and the message is not shown.")
	}
	switch {
	case a.m.Spec.Until == nil:
		fmt.Fprintln(a.to.Out, "It has no end. To end it:")
	case a.scaled(), a.taken:
		fmt.Fprintln(a.to.Out, "At its end the operator gives the application back, and shows the page until it answers. To end it sooner:")
	default:
		fmt.Fprintln(a.to.Out, "The announcement goes at its end. To end it sooner:")
	}
	_, err := fmt.Fprintf(a.to.Out, "  kubectl critsvc maintenance off svc/%s -n %s\n", a.name.Name, a.name.Namespace)
	return err
}

func (a *announcement) ending() string {
	if a.m.Spec.Until == nil {
		return ""
	}
	return fmt.Sprintf(" until %s (in %s)", a.m.Spec.Until.Local().Format(time.RFC3339), time.Until(a.m.Spec.Until.Time).Round(time.Second))
}
