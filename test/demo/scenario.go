package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/term"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv1 "github.com/critical-service/operator/api/v1"
	"github.com/critical-service/operator/test/internal/cluster"
	"github.com/critical-service/operator/test/prober"
)

const (
	namespace         = "critical-service-demo"
	operatorNamespace = "critical-service-system"
	operatorName      = "critical-service-operator"

	// shop is the name of the application's Service, Deployment, CriticalService and "app" label, and
	// what its Pods answer with; fallback is what the fallback Pod answers with.
	shop     = "shop"
	fallback = "fallback"

	// These stretches of quiet make the picture: before the outage, in its middle, and after it.
	calm     = 3 * time.Second
	outage   = 5 * time.Second
	recovery = 4 * time.Second

	startLimit = 3 * time.Minute
	eventLimit = 90 * time.Second
)

// demo is one run of the program.
type demo struct {
	*screen
	options
	cluster *cluster.Cluster
	began   time.Time
}

func (d *demo) run(ctx context.Context) error {
	d.began = time.Now()
	d.printf("%s\n\n", d.paint(bold, "Critical Service Operator: a Service that has lost all its Pods keeps answering"))
	d.printf("  cluster   %s (Kubernetes %s)\n", d.cluster.Config.Host, d.cluster.Version)
	if d.image != "" {
		d.printf("  operator  %s\n", d.image)
	}
	for _, part := range []func(context.Context) error{d.install, d.deploy, d.pause} {
		if err := part(ctx); err != nil {
			return d.diagnose(ctx, err)
		}
	}
	verdict, err := d.outage(ctx)
	if err != nil {
		return d.diagnose(ctx, err)
	}
	d.title("4. What the operator says")
	if err := errors.Join(d.showStatus(ctx), d.showEvents(ctx)); err != nil {
		return err
	}
	d.title("5. What happened")
	d.showVerdict(verdict)
	if !d.keep {
		return d.cleanUp(ctx)
	}
	d.title("Go on by hand")
	d.showCommands()
	return nil
}

func (d *demo) install(ctx context.Context) error {
	d.title("1. Install the operator")
	if d.manifest != "" {
		content, err := os.ReadFile(d.manifest)
		if err != nil {
			return fmt.Errorf("cannot read the manifest that installs the operator: %w", err)
		}
		objects, err := cluster.Decode(content)
		if err != nil {
			return fmt.Errorf("%s: %w", d.manifest, err)
		}
		if err := d.cluster.Apply(ctx, fieldManager, objects...); err != nil {
			return err
		}
		d.done("applied the %d objects of %s", len(objects), d.manifest)
	}
	return d.wait(ctx, "the operator runs", startLimit, d.available(operatorNamespace, operatorName))
}

func (d *demo) deploy(ctx context.Context) error {
	d.title("2. Deploy a web shop, and declare its Service critical")
	if err := d.clearTemplate(ctx); err != nil {
		return err
	}
	if err := d.apply(ctx, shopManifest); err != nil {
		return err
	}
	d.done("applied Deployment and Service %s/%s", namespace, shop)
	if err := d.wait(ctx, "the shop's 2 Pods are ready", startLimit, d.available(namespace, shop)); err != nil {
		return err
	}
	if err := d.apply(ctx, fallbackManifest); err != nil {
		return err
	}
	d.done("applied PodTemplate %s/%s, the fallback", operatorNamespace, templateName)
	if err := d.apply(ctx, criticalServiceManifest); err != nil {
		return err
	}
	d.done("applied CriticalService %s", shop)
	return d.wait(ctx, "the operator protects the Service", eventLimit, d.state(criticalv1.StateArmed))
}

// pause lets the person at the terminal decide when it begins: the build before may have been long.
func (d *demo) pause(ctx context.Context) error {
	if !d.live || !term.IsTerminal(int(os.Stdin.Fd())) {
		return nil
	}
	d.printf("\n  Press Enter to take all Pods of the shop away. ")
	entered := make(chan struct{})
	go func() {
		defer close(entered)
		// An input that ends says as much as Enter.
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	}()
	select {
	case <-entered:
		return nil
	case <-ctx.Done():
		d.printf("\n")
		return errors.New("interrupted before the outage")
	}
}

// outage takes the Pods away and brings them back while the prober watches. It returns only when
// each answerer has been seen in its turn.
func (d *demo) outage(ctx context.Context) ([]prober.Segment, error) {
	// From here on, events are part of the story.
	d.began = time.Now()
	d.title("3. Take all Pods of the shop away, and bring them back: who answers 100 requests per second?")
	watching := newWatcher(newStrip(d.out, d.painter))
	stop, err := d.probe(ctx, watching)
	if err != nil {
		return nil, err
	}
	defer stop()
	watching.strip.legend()
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	go d.followStatus(following, watching)

	err = d.acts(ctx, watching)
	cancel()
	segments := watching.finish()
	return segments, err
}

func (d *demo) acts(ctx context.Context, watching *watcher) error {
	if err := d.until(ctx, "the shop answers", watching.answers(shop, calm)); err != nil {
		return err
	}
	if err := d.scale(ctx, watching, 0); err != nil {
		return err
	}
	if err := d.until(ctx, "the shop's Pods are gone", d.noPods("app", shop)); err != nil {
		return err
	}
	watching.say("the last Pod of the shop is gone")
	if err := d.until(ctx, "the fallback answers", watching.answers(fallback, outage)); err != nil {
		return err
	}
	if err := d.scale(ctx, watching, 2); err != nil {
		return err
	}
	if err := d.until(ctx, "the shop answers again", watching.answers(shop, recovery)); err != nil {
		return err
	}
	if err := d.until(ctx, "the fallback Pod is gone", d.noPods(criticalv1.LabelFallbackFor, shop)); err != nil {
		return err
	}
	watching.say("the fallback Pod is gone")
	// The last look: the fallback's leaving must not have taken the shop's answers along.
	return d.until(ctx, "the shop still answers", watching.answers(shop, calm))
}

func (d *demo) until(ctx context.Context, what string, look check) error {
	return until(ctx, what, eventLimit, look, func(string) {})
}

// watch shows live who answers, until ctx ends.
func (d *demo) watch(ctx context.Context) error {
	if err := d.useImageOfTheShop(ctx); err != nil {
		return err
	}
	d.title("Who answers for the shop? (Ctrl-C ends)")
	watching := newWatcher(newStrip(d.out, d.painter))
	stop, err := d.probe(ctx, watching)
	if err != nil {
		return err
	}
	defer stop()
	watching.strip.legend()
	go d.followStatus(ctx, watching)
	select {
	case <-ctx.Done():
		d.printf("\n")
		return nil
	case <-watching.over:
		watching.finish()
		return watching.ended
	}
}

// followStatus writes each change of the Service's state in the status into the timeline.
func (d *demo) followStatus(ctx context.Context, watching *watcher) {
	var before criticalv1.ServiceState
	for {
		if now, _ := d.serviceStatus(ctx); now != nil && now.State != before {
			if before != "" {
				watching.say("status: %s (%s)", now.State, now.Reason)
			}
			before = now.State
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pollEvery):
		}
	}
}

// serviceStatus is what the CriticalService says of the shop; nil when it says nothing.
func (d *demo) serviceStatus(ctx context.Context) (*criticalv1.ServiceStatus, error) {
	var policy criticalv1.CriticalService
	if err := d.cluster.Get(ctx, client.ObjectKey{Name: shop}, &policy); err != nil {
		return nil, err
	}
	for _, detail := range policy.Status.Details {
		if detail.Namespace == namespace && detail.Name == shop {
			return &detail, nil
		}
	}
	return nil, nil
}

func (d *demo) state(want criticalv1.ServiceState) check {
	return func(ctx context.Context) (bool, string, error) {
		status, err := d.serviceStatus(ctx)
		if err != nil || status == nil {
			return false, "no status yet", err
		}
		return status.State == want, fmt.Sprintf("%s (%s): %s", status.State, status.Reason, status.Message), nil
	}
}

func (d *demo) available(namespace, name string) check {
	return func(ctx context.Context) (bool, string, error) {
		return d.cluster.DeploymentAvailable(ctx, client.ObjectKey{Namespace: namespace, Name: name})
	}
}

func (d *demo) noPods(label, value string) check {
	return func(ctx context.Context) (bool, string, error) {
		var pods corev1.PodList
		err := d.cluster.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{label: value})
		// The fallback carries the shop's labels too: that is how the Service finds it.
		count := 0
		for _, pod := range pods.Items {
			if _, stand := pod.Labels[criticalv1.LabelFallbackFor]; stand == (label == criticalv1.LabelFallbackFor) {
				count++
			}
		}
		return err == nil && count == 0, fmt.Sprintf("%d Pods left", count), err
	}
}
