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
)

// perform holds the drill. A Result with an error is what is known of a drill that
// was broken off.
func (s *stage) perform(ctx context.Context) (*Result, error) {
	found, err := survey(ctx, s, s.name, s.options.image)
	if err != nil {
		return nil, err
	}
	s.use(found)
	if s.options.live {
		if err := s.refuse(ctx, found); err != nil {
			return nil, err
		}
		if s.restorer, err = s.findRestorer(ctx); err != nil {
			return nil, fmt.Errorf("refused: %w", err)
		}
	}
	rehearsal, err := rehearse(ctx, found, s.prober, s.options.tries)
	if err != nil {
		return nil, err
	}
	result := &Result{Namespace: s.name.Namespace, Service: s.name.Name, Rehearsal: rehearsal, Good: rehearsal.Good}
	if !s.options.live {
		return result, nil
	}
	if !rehearsal.Good {
		s.tell("No outage is made: what stands by does not answer as it should.")
		return result, nil
	}
	if err := s.confirm(ctx); err != nil {
		return nil, err
	}
	result.Live, err = s.outage(ctx, found, rehearsal)
	result.Good = result.Live != nil && result.Live.Good && err == nil
	return result, err
}

// refuse says why a Service is not fit for a live drill.
func (s *stage) refuse(ctx context.Context, found *scene) error {
	place := fmt.Sprintf("svc/%s in namespace %s", s.name.Name, s.name.Namespace)
	switch {
	case found.status == nil:
		return fmt.Errorf("refused: no CriticalService says anything of %s, so that nothing would answer", place)
	case found.status.State != criticalv2.StateArmed:
		return fmt.Errorf("refused: %s is %s (%s), and not Armed: %s", place, found.status.State, found.status.Reason, found.status.Message)
	case found.service.Spec.ClusterIP == corev1.ClusterIPNone:
		return fmt.Errorf("refused: %s is headless, so that there is no address whose clients could be measured", place)
	case len(found.targets) == 0:
		return fmt.Errorf("refused: nothing stands by for %s", place)
	}
	announced, err := s.maintenance(ctx)
	if err != nil {
		return err
	}
	if announced != "" {
		return fmt.Errorf("refused: a maintenance of %s is on (ConfigMap %s): end it first, by kubectl critsvc maintenance off svc/%s -n %s", place, announced, s.name.Name, s.name.Namespace)
	}
	return nil
}

// maintenance is the name of a ConfigMap that announces one for the Service.
func (s *stage) maintenance(ctx context.Context) (string, error) {
	var announced corev1.ConfigMapList
	err := s.List(ctx, &announced, client.InNamespace(s.name.Namespace), client.MatchingLabels{criticalv2.LabelResponder: criticalv2.ResponderMaintenance})
	if err != nil {
		return "", fmt.Errorf("find out whether a maintenance is on: %w", err)
	}
	for _, one := range announced.Items {
		if one.Data["service"] == s.name.Name {
			return one.Name, nil
		}
	}
	return "", nil
}

// confirm asks a person to type the Service's name.
func (s *stage) confirm(ctx context.Context) error {
	if s.options.yes {
		return nil
	}
	s.tell("This takes the application behind svc/%s in namespace %s away for %s: its clients get the fallback.", s.name.Name, s.name.Namespace, s.options.length)
	fmt.Fprintf(s.to.ErrOut, "Type the name of the Service to go on: ")
	typed := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(s.to.In).ReadString('\n')
		typed <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case line := <-typed:
		if line != s.name.Name {
			return errors.New("not confirmed: nothing was done (--yes does not ask)")
		}
		return nil
	}
}

// deadlineOf is when the Pod of a live drill ends by itself.
func deadlineOf(length time.Duration) time.Duration { return begins + length + recovers + time.Minute }
