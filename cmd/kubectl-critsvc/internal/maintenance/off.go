package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/endpoints"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage"
)

// ending is one run of `maintenance off`.
type ending struct {
	to      *access.Access
	wait    bool
	yes     bool
	timeout time.Duration
}

func offCommand(to *access.Access) *cobra.Command {
	e := &ending{to: to}
	command := &cobra.Command{
		Use:   "off svc/NAME",
		Short: "End a maintenance, and give the application back",
		Long: `End a maintenance of a Service: give the application the replicas that were taken from it, show the page
until it answers, and delete the Maintenance. Where nothing is announced there is nothing to do. A Maintenance
of several Services, or one that recurs, stays.`,
		Example:           `  kubectl critsvc maintenance off svc/storefront`,
		Args:              access.OneService,
		ValidArgsFunction: to.CompleteService,
		RunE: func(command *cobra.Command, arguments []string) error {
			return e.run(command.Context(), arguments[0])
		},
	}
	flags := command.Flags()
	flags.BoolVar(&e.wait, "wait", true, "Keep the page until the application answers")
	flags.BoolVarP(&e.yes, "yes", "y", false, "Do not ask before giving back what only the Maintenance says, and not the operator")
	flags.DurationVar(&e.timeout, "timeout", criticalv2.MaintenanceGrace, "How long to wait for the application; then the announcement goes all the same")
	return command
}

func (e *ending) run(ctx context.Context, argument string) error {
	name, err := e.to.Service(argument)
	if err != nil {
		return err
	}
	to, err := e.to.Client()
	if err != nil {
		return err
	}
	return e.perform(ctx, to, name)
}

func (e *ending) perform(ctx context.Context, to client.Client, name types.NamespacedName) error {
	all, err := outage.MaintenancesOf(ctx, to, name)
	if err != nil {
		return err
	}
	on := slices.DeleteFunc(all, func(m criticalv2.Maintenance) bool { return m.Status.Ended != nil && m.Owes() == nil })
	own := slices.DeleteFunc(slices.Clone(on), func(m criticalv2.Maintenance) bool { return outage.IsShared(&m) })
	if err := e.checkShared(name, on, len(own)); err != nil {
		return err
	}
	if err := e.consent(ctx, to, own); err != nil {
		return err
	}
	owed, err := e.restore(ctx, to, own)
	if err != nil {
		return fmt.Errorf("%w; nothing is deleted", err)
	}
	if owed && e.wait {
		if err := e.await(ctx, to, name); err != nil {
			return err
		}
	}
	for i := range own {
		if err := outage.Forget(ctx, to, &own[i]); err != nil {
			return err
		}
	}
	outcome := "the maintenance is over"
	if len(own) == 0 {
		if _, err := access.GetService(ctx, to, name); err != nil {
			return err
		}
		outcome = "no maintenance is announced"
	}
	_, err = fmt.Fprintf(e.to.Out, "service/%s: %s.\n", name.Name, outcome)
	return err
}

// checkShared says of Maintenances that are not about the Service alone, or recur, that
// they stay. It is an error if there is no other to end.
func (e *ending) checkShared(name types.NamespacedName, on []criticalv2.Maintenance, own int) error {
	for i := range on {
		m := &on[i]
		if !outage.IsShared(m) {
			continue
		}
		why := "is about several Services"
		if m.Spec.Recurring != nil {
			why = "recurs"
		}
		why = fmt.Sprintf("Maintenance %q %s, and stays: `kubectl delete maintenance %s -n %s` ends it, for %s",
			m.Name, why, m.Name, name.Namespace, strings.Join(m.Spec.Services, ", "))
		if own == 0 {
			return errors.New(why)
		}
		if outage.IsOn(m, time.Now()) {
			fmt.Fprintf(e.to.ErrOut, "warning: %s\n", why)
		}
	}
	return nil
}

// consent asks before a workload is scaled up because a Maintenance alone says so: users who
// may not scale it may have written that. What the operator has seen is given back unasked.
func (e *ending) consent(ctx context.Context, to client.Client, maintenances []criticalv2.Maintenance) error {
	for i := range maintenances {
		m := &maintenances[i]
		owed := m.Owes()
		if e.yes || owed == nil || m.Status.Owed != nil {
			continue
		}
		away, err := outage.IsAway(ctx, to, m.Namespace, owed)
		if err != nil {
			return err
		}
		if !away {
			continue
		}
		claim := fmt.Sprintf("Maintenance %q says that %s had %d replicas, which the operator has not seen", m.Name, owed, owed.Replicas)
		if !isInteractive(e.to) {
			return fmt.Errorf("%s: add --yes to give them back; nothing is deleted", claim)
		}
		wanted, err := confirm(e.to, claim+". Give them back now?")
		if err != nil {
			return err
		}
		if !wanted {
			return errors.New("not confirmed: nothing is deleted")
		}
	}
	return nil
}

// restore gives back what is owed, and reports whether anything was. What cannot be
// given back is recorded in the Maintenance only, which is kept therefore.
func (e *ending) restore(ctx context.Context, to client.Client, maintenances []criticalv2.Maintenance) (owed bool, err error) {
	var failed []error
	for i := range maintenances {
		m := &maintenances[i]
		if err := outage.Restore(ctx, to, m); err != nil {
			failed = append(failed, err)
		} else if back := m.Owes(); back != nil {
			owed = true
			fmt.Fprintf(e.to.Out, "%s has its %d replicas back.\n", back, back.Replicas)
		}
	}
	return owed, errors.Join(failed...)
}

// await waits until the application answers, or the time is over: the Service's own
// fallback answers in any case.
func (e *ending) await(ctx context.Context, to client.Client, name types.NamespacedName) error {
	service := &corev1.Service{}
	err := to.Get(ctx, name, service)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Service %s: %w", name, err)
	}
	fmt.Fprintln(e.to.ErrOut, "Waiting until the application answers; the page stays until then ...")
	err = wait.PollUntilContextTimeout(ctx, pollInterval, e.timeout, true, func(ctx context.Context) (bool, error) {
		return answers(ctx, to, service)
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errors.New("interrupted: the application has its replicas back, and the announcement stays; `maintenance off` again ends it")
	case wait.Interrupted(err):
		fmt.Fprintf(e.to.ErrOut, "warning: the application does not answer after %s: `kubectl critsvc explain svc/%s -n %s` says why\n", e.timeout, name.Name, name.Namespace)
		return nil
	default:
		return err
	}
}

// answers reports whether a Service has a ready endpoint of its own.
func answers(ctx context.Context, from client.Reader, service *corev1.Service) (bool, error) {
	var own discoveryv1.EndpointSliceList
	err := from.List(ctx, &own, client.InNamespace(service.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service.Name})
	if err != nil {
		return false, fmt.Errorf("list the endpoints of Service %q: %w", service.Name, err)
	}
	var fallbacks corev1.PodList
	err = from.List(ctx, &fallbacks, client.InNamespace(service.Namespace), client.HasLabels{criticalv2.LabelFallbackFor})
	if err != nil && !apierrors.IsForbidden(err) {
		return false, fmt.Errorf("list the fallback Pods of namespace %q: %w", service.Namespace, err)
	}
	ready, _ := endpoints.Count(endpoints.Of(service, own.Items, fallbacks.Items), endpoints.Application)
	return ready > 0, nil
}
