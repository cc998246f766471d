package drill

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

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
		if err := d.find(ctx, found); err != nil {
			return nil, err
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
	maintenances, err := outage.MaintenancesOf(ctx, d, d.name)
	if err != nil {
		return fmt.Errorf("find out whether a maintenance is on: %w", err)
	}
	for i := range maintenances {
		if m := &maintenances[i]; outage.IsOn(m, time.Now()) {
			return fmt.Errorf("refused: a maintenance or a drill of %s is on (Maintenance %s): end it first, by kubectl critsvc maintenance off svc/%s -n %s",
				place, m.Name, d.name.Name, d.name.Namespace)
		}
	}
	return nil
}

// find finds the workload of the application, and what else goes down with it. It refuses
// where the user may not permit the operator to give it back.
func (d *drill) find(ctx context.Context, found *survey) (err error) {
	if d.workload, err = outage.Find(ctx, d, &found.service); err != nil {
		return fmt.Errorf("no outage is made: %w", err)
	}
	err = outage.MayPermit(ctx, d, d.name, d.workload)
	if errors.Is(err, outage.ErrNotPermitted) {
		err = d.alone(err)
	}
	if err != nil {
		return fmt.Errorf("refused: %w", err)
	}
	return nil
}

// alone decides whether to make an outage that the operator does not end should this
// program be killed.
func (d *drill) alone(why error) error {
	if d.options.withoutOperator {
		if d.warned {
			return nil
		}
		d.warned = true
		d.progress("warning: should this program be killed, the application is not given back before `kubectl critsvc maintenance off svc/%s -n %s`: %v", d.name.Name, d.name.Namespace, why)
		return nil
	}
	return fmt.Errorf("nothing would give the application back should this program be killed (--without-operator makes the outage all the same): %w", why)
}

// confirm says what else the outage takes away, and asks the user to type the Service's
// name.
func (d *drill) confirm(ctx context.Context) error {
	for _, note := range d.workload.Notes {
		d.progress("warning: %s", note)
	}
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
	return startTimeout + baselineTimeout + length + spare + recoveryTimeout + time.Minute
}
