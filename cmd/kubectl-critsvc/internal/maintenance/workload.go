package maintenance

import (
	"context"
	"errors"
	"fmt"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage"
)

// find finds what could be scaled down, if it is asked for, or could be.
func (a *announcement) find(ctx context.Context) error {
	if a.scaleDown && !a.yes && !isInteractive(a.to) {
		return errors.New("--scale-down needs confirmation and stdin is not a terminal; add --yes")
	}
	if err := a.checkTaken(ctx); err != nil {
		return err
	}
	if a.taken || !a.scaleDown && !a.offers() {
		return nil
	}
	workload, err := outage.Find(ctx, a.client, a.service)
	if err == nil && workload.Replicas > 0 {
		err = a.check(ctx, workload)
	}
	switch {
	case err != nil && a.scaleDown:
		return err
	case err != nil:
		fmt.Fprintf(a.to.ErrOut, "The application cannot be scaled down from here: %v.\n", err)
	case workload.Replicas > 0:
		a.workload = workload
	}
	return nil
}

// check asks the API server, before anything is done, whether the user may scale the
// application down, and let the operator give it back at the end.
func (a *announcement) check(ctx context.Context, workload *outage.Workload) error {
	if err := workload.DryRun(ctx, a.client); err != nil || a.m.Spec.Until == nil {
		return err
	}
	err := outage.MayPermit(ctx, a.client, a.name, workload)
	if errors.Is(err, outage.ErrNotPermitted) {
		return a.alone(err)
	}
	return err
}

// alone decides whether the application is taken away although the operator would not
// give it back: only if the user is to do that in any case, because there is no end.
func (a *announcement) alone(why error) error {
	switch {
	case !errors.Is(why, outage.ErrNotPermitted):
		return why
	case a.m.Spec.Until != nil:
		return fmt.Errorf("%w. Either ask a user who has it, or leave the end out (--until) and end it yourself", why)
	default:
		fmt.Fprintf(a.to.ErrOut, "warning: only `maintenance off` gives the application back, and not a deletion of the Maintenance: %v\n", why)
		return nil
	}
}

// offers reports whether the user is asked, because no flag decides.
func (a *announcement) offers() bool {
	return !a.given("scale-down") && !a.yes && isInteractive(a.to)
}

// checkTaken finds out whether the application was scaled to zero before. What is owed
// is recorded before anything is scaled, so that the record alone does not prove it.
func (a *announcement) checkTaken(ctx context.Context) error {
	owed := a.m.Owes()
	if owed == nil {
		return nil
	}
	away, err := outage.IsAway(ctx, a.client, a.name.Namespace, owed)
	switch {
	case err != nil && a.scaleDown:
		return err
	case err != nil:
		fmt.Fprintf(a.to.ErrOut, "warning: it is not known whether %s was scaled down: %v\n", owed, err)
		a.taken = true
	default:
		a.taken = away
	}
	return nil
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
