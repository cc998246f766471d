package maintenance

import (
	"context"
	"errors"
	"fmt"
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
	timeout time.Duration
}

func offCommand(to *access.Access) *cobra.Command {
	e := &ending{to: to}
	command := &cobra.Command{
		Use:   "off svc/NAME",
		Short: "End a maintenance, and give the application back",
		Long: `End a maintenance of a Service: give the application the replicas that were taken from it, show the page
until it answers, and remove the announcement. Where nothing is announced there is nothing to do.`,
		Example:           `  kubectl critsvc maintenance off svc/storefront`,
		Args:              access.OneService,
		ValidArgsFunction: to.CompleteService,
		RunE: func(command *cobra.Command, arguments []string) error {
			return e.run(command.Context(), arguments[0])
		},
	}
	flags := command.Flags()
	flags.BoolVar(&e.wait, "wait", true, "Keep the page until the application answers")
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
	configs, err := maintenancesOf(ctx, to, name)
	if err != nil {
		return err
	}
	if len(configs) == 0 {
		fmt.Fprintf(e.to.Out, "service/%s: no maintenance is announced.\n", name.Name)
		return nil
	}
	owed, err := e.restore(ctx, to, configs)
	if err != nil {
		return fmt.Errorf("%w; nothing is deleted", err)
	}
	if owed && e.wait {
		if err := e.await(ctx, to, name); err != nil {
			return err
		}
	}
	for i := range configs {
		if err := outage.Forget(ctx, to, &configs[i]); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(e.to.Out, "service/%s: the maintenance is over.\n", name.Name)
	return err
}

// restore gives back what is owed, and reports whether anything was. What cannot be
// given back is recorded in the ConfigMap only, which is kept therefore.
func (e *ending) restore(ctx context.Context, to client.Client, configs []corev1.ConfigMap) (owed bool, err error) {
	var failed []error
	for i := range configs {
		config := &configs[i]
		if _, err := criticalv2.ParseMaintenance(config.Data); err != nil {
			fmt.Fprintf(e.to.ErrOut, "warning: ConfigMap %q is not valid, and announced nothing: %v\n", config.Name, err)
		}
		if err := outage.Restore(ctx, to, config); err != nil {
			failed = append(failed, err)
			continue
		}
		debt, err := criticalv2.ParseMaintenanceDebt(config.Name, config.Data)
		if err == nil && debt.Workload != nil {
			owed = true
			fmt.Fprintf(e.to.Out, "%s has its %d replicas back.\n", debt.Workload, debt.Workload.Replicas)
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
	var slices discoveryv1.EndpointSliceList
	err := from.List(ctx, &slices, client.InNamespace(service.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service.Name})
	if err != nil {
		return false, fmt.Errorf("list the endpoints of Service %q: %w", service.Name, err)
	}
	var fallbacks corev1.PodList
	err = from.List(ctx, &fallbacks, client.InNamespace(service.Namespace), client.HasLabels{criticalv2.LabelFallbackFor})
	if err != nil && !apierrors.IsForbidden(err) {
		return false, fmt.Errorf("list the fallback Pods of namespace %q: %w", service.Namespace, err)
	}
	ready, _ := endpoints.Count(endpoints.Of(service, slices.Items, fallbacks.Items), endpoints.Application)
	return ready > 0, nil
}
