package drill

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage"
)

// run runs the drill. A Result with an error is what is known of a drill that was
// aborted.
func (d *drill) run(ctx context.Context) (*Result, error) {
	found, err := newSurvey(ctx, d, d.name, d.options.image)
	if err != nil {
		return nil, err
	}
	d.use(found)
	if d.options.live {
		if err := d.refuse(ctx, found); err != nil {
			return nil, err
		}
		if d.restorer, err = d.findRestorer(ctx); err != nil {
			return nil, fmt.Errorf("refused: %w", err)
		}
	}
	dryRun, err := askStandby(ctx, found, d.prober, d.options.tries)
	if err != nil {
		return nil, err
	}
	result := &Result{Namespace: d.name.Namespace, Service: d.name.Name, DryRun: dryRun, Good: dryRun.Good}
	if !d.options.live {
		return result, nil
	}
	if !dryRun.Good {
		d.progress("No outage is made: what stands by does not answer as it should.")
		return result, nil
	}
	if err := d.warn(ctx, found); err != nil {
		return nil, err
	}
	if err := d.confirm(ctx); err != nil {
		return nil, err
	}
	result.Live, err = d.outage(ctx, found, dryRun)
	result.Good = result.Live != nil && result.Live.Good && err == nil
	return result, err
}

// refuse says why a Service is not fit for a live drill.
func (d *drill) refuse(ctx context.Context, found *survey) error {
	place := fmt.Sprintf("svc/%s in namespace %s", d.name.Name, d.name.Namespace)
	switch {
	case found.status == nil:
		return fmt.Errorf("refused: the status of no CriticalService or ServiceFallback lists %s, so that nothing would answer", place)
	case found.status.State != criticalv2.StateArmed:
		return fmt.Errorf("refused: %s is %s (%s), and not Armed: %s", place, found.status.State, found.status.Reason, found.status.Message)
	case found.service.Spec.ClusterIP == corev1.ClusterIPNone:
		return fmt.Errorf("refused: %s is headless, so that there is no address whose clients could be measured", place)
	case len(found.targets) == 0:
		return fmt.Errorf("refused: nothing stands by for %s", place)
	}
	announced, err := d.maintenance(ctx)
	if err != nil {
		return err
	}
	if announced != "" {
		return fmt.Errorf("refused: a maintenance of %s is on (ConfigMap %s): end it first, by kubectl critsvc maintenance off svc/%s -n %s", place, announced, d.name.Name, d.name.Namespace)
	}
	return nil
}

// maintenance is the name of a ConfigMap that announces one for the Service.
func (d *drill) maintenance(ctx context.Context) (string, error) {
	var announced corev1.ConfigMapList
	err := d.List(ctx, &announced, client.InNamespace(d.name.Namespace), client.MatchingLabels{criticalv2.LabelResponder: criticalv2.ResponderMaintenance})
	if err != nil {
		return "", fmt.Errorf("find out whether a maintenance is on: %w", err)
	}
	for _, one := range announced.Items {
		if one.Data["service"] == d.name.Name {
			return one.Name, nil
		}
	}
	return "", nil
}

// warn says what else goes down with the application, and what may end the outage before
// its time.
func (d *drill) warn(ctx context.Context, found *survey) error {
	workload, err := outage.Find(ctx, d, &found.service)
	if err != nil {
		return fmt.Errorf("no outage is made: %w", err)
	}
	d.others = workload.Others
	for _, note := range workload.Notes {
		d.progress("warning: %s", note)
	}
	return nil
}

// confirm asks the user to type the Service's name.
func (d *drill) confirm(ctx context.Context) error {
	if d.options.yes {
		return nil
	}
	d.progress("This takes the application behind svc/%s in namespace %s away for %s: its clients get the fallback.", d.name.Name, d.name.Namespace, d.options.length)
	fmt.Fprintf(d.to.ErrOut, "Type the name of the Service to go on: ")
	typed := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(d.to.In).ReadString('\n')
		typed <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case line := <-typed:
		if line != d.name.Name {
			return errors.New("not confirmed: nothing was done (--yes skips the question)")
		}
		return nil
	}
}

// deadlineOf is when the Pod of a live drill ends by itself.
func deadlineOf(length time.Duration) time.Duration {
	return startTimeout + length + recoveryTimeout + time.Minute
}
