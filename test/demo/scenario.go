package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/term"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
	"github.com/critical-service/operator/test/prober"
)

const (
	namespace         = "critical-service-demo"
	operatorNamespace = "critical-service-system"
	operatorName      = "critical-service-operator"

	// shop is the name of the application's Service, Deployment, CriticalService and "app" label, and
	// what its Pods answer with.
	shop = "shop"
	// page is who answers in the shop's place, and pageSentence the words by which it is known.
	page         = "page"
	pageSentence = "The shop is closed for a moment."

	// These stretches of quiet make the picture: before an outage, in its middle, and after it.
	calm     = 2 * time.Second
	away     = 4 * time.Second
	recovery = 3 * time.Second

	startLimit = 3 * time.Minute
	eventLimit = 90 * time.Second
)

// demo is one run of the program.
type demo struct {
	*screen
	options
	cluster *cluster.Cluster
	began   time.Time
	// operators is how many Pods the operator had before the demo stopped it; 0 while it runs.
	operators int32
}

func (d *demo) run(ctx context.Context) error {
	d.began = time.Now()
	d.printf("%s\n\n", d.paint(bold, "Critical Service Operator: a Service that has lost all its Pods keeps answering,\nalso while the operator is down"))
	d.printf("  cluster   %s (Kubernetes %s)\n", d.cluster.Config.Host, d.cluster.Version)
	if d.image != "" {
		d.printf("  operator  %s\n", d.image)
	}
	for _, part := range []func(context.Context) error{d.install, d.deploy, d.pause} {
		if err := part(ctx); err != nil {
			return d.diagnose(ctx, err)
		}
	}
	seen, err := d.show(ctx)
	if err != nil {
		return d.diagnose(ctx, err)
	}
	d.title("4. What the operator says")
	if err := errors.Join(d.showStatus(ctx), d.showEvents(ctx)); err != nil {
		return err
	}
	d.title("5. What happened")
	if err := d.showVerdict(seen); err != nil {
		return err
	}
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
	if err := d.apply(ctx, shopManifest); err != nil {
		return err
	}
	d.done("applied Deployment and Service %s/%s", namespace, shop)
	if err := d.wait(ctx, "the shop's 2 Pods are ready", startLimit, d.available(namespace, shop)); err != nil {
		return err
	}
	if err := d.apply(ctx, criticalServiceManifest); err != nil {
		return err
	}
	d.done("applied CriticalService %s", shop)
	if err := d.wait(ctx, "a page stands by for the Service", eventLimit, d.state(criticalv2.StateArmed)); err != nil {
		return err
	}
	standby, err := d.standby(ctx)
	if err != nil {
		return err
	}
	d.done("%s", standby)
	return nil
}

// pause lets the person at the terminal decide when it begins: the build before may have been long.
func (d *demo) pause(ctx context.Context) error {
	if !d.live || !term.IsTerminal(int(os.Stdin.Fd())) {
		return nil
	}
	d.printf("\n  Press Enter to stop the operator, and then to take all Pods of the shop away. ")
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

// story is what the demo saw.
type story struct {
	segments []prober.Segment
	outages  []outage
}

// outage is a time in which the shop had no Pods.
type outage struct {
	// operator says whether the operator ran meanwhile.
	operator bool
	// began is when the Pods were deleted.
	began time.Time
	// over is when the first of the requests was sent that all went to the shop again.
	over time.Time
}

// show takes the Pods away and brings them back while the prober watches: first without the
// operator, then with it. It returns only when each answerer has been seen in its turn.
func (d *demo) show(ctx context.Context) (*story, error) {
	// From here on, events are part of the story.
	d.began = time.Now()
	d.title("3. Stop the operator, and take all Pods of the shop away: who answers 200 requests per second?")
	watching := newWatcher(newStrip(d.out, d.painter))
	stop, err := d.probe(ctx, watching)
	if err != nil {
		return nil, err
	}
	defer stop()
	defer d.restoreOperator(ctx)
	watching.strip.legend()
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	go d.followStatus(following, watching)

	outages, err := d.acts(ctx, watching)
	cancel()
	return &story{segments: watching.finish(), outages: outages}, err
}

func (d *demo) acts(ctx context.Context, watching *watcher) ([]outage, error) {
	if err := d.until(ctx, "the shop answers", watching.answers(shop, calm)); err != nil {
		return nil, err
	}
	if err := d.stopOperator(ctx, watching); err != nil {
		return nil, err
	}
	alone, err := d.outage(ctx, watching, false)
	if err != nil {
		return nil, err
	}
	if left, _, err := d.noPods(operatorNamespace, operatorLabels)(ctx); err != nil || !left {
		return nil, errors.Join(errors.New("the operator runs again, although the demo has not started it: this outage proves nothing"), err)
	}
	if err := d.startOperator(ctx, watching); err != nil {
		return nil, err
	}
	// Once more, so that the operator's own part is seen: to promote and to demote the page.
	both, err := d.outage(ctx, watching, true)
	if err != nil {
		return nil, err
	}
	return []outage{alone, both}, d.until(ctx, "the page stands by again", d.state(criticalv2.StateArmed))
}

// outage takes the Pods away and brings them back.
func (d *demo) outage(ctx context.Context, watching *watcher, operator bool) (outage, error) {
	o := outage{operator: operator, began: watching.now()}
	if err := d.scale(ctx, watching, namespace, shop, 0); err != nil {
		return o, err
	}
	if err := d.until(ctx, "the shop's Pods are gone", d.noPods(namespace, client.MatchingLabels{"app": shop})); err != nil {
		return o, err
	}
	watching.say("the last Pod of the shop is gone")
	if err := d.until(ctx, "the page answers", watching.answers(page, away)); err != nil {
		return o, err
	}
	if operator {
		if err := d.until(ctx, "the operator knows of it", d.state(criticalv2.StateCovered)); err != nil {
			return o, err
		}
	}
	if err := d.scale(ctx, watching, namespace, shop, 2); err != nil {
		return o, err
	}
	err := d.until(ctx, "the shop answers again", watching.answers(shop, recovery))
	o.over = watching.since()
	return o, err
}

// stopOperator takes the operator's Pods away.
func (d *demo) stopOperator(ctx context.Context, watching *watcher) error {
	var deployment appsv1.Deployment
	if err := d.cluster.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}, &deployment); err != nil {
		return err
	}
	d.operators = ptr.Deref(deployment.Spec.Replicas, 1)
	if err := d.scale(ctx, watching, operatorNamespace, operatorName, 0); err != nil {
		return err
	}
	if err := d.until(ctx, "the operator's Pods are gone", d.noPods(operatorNamespace, operatorLabels)); err != nil {
		return err
	}
	watching.say("the operator is down: it has no Pod left")
	return nil
}

func (d *demo) startOperator(ctx context.Context, watching *watcher) error {
	if err := d.scale(ctx, watching, operatorNamespace, operatorName, d.operators); err != nil {
		return err
	}
	d.operators = 0
	if err := d.until(ctx, "the operator runs again", d.available(operatorNamespace, operatorName)); err != nil {
		return err
	}
	watching.say("the operator is up again")
	return nil
}

// restoreOperator brings the operator back where the demo ended while it was down.
func (d *demo) restoreOperator(ctx context.Context) {
	if d.operators == 0 {
		return
	}
	// The run may end because ctx did: the operator is started all the same.
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	if err := d.setReplicas(ctx, operatorNamespace, operatorName, d.operators); err != nil {
		d.printf("  the operator is still down: kubectl scale -n %s deployment/%s --replicas=%d (%v)\n",
			operatorNamespace, operatorName, d.operators, err)
	}
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
	var before criticalv2.ServiceState
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
func (d *demo) serviceStatus(ctx context.Context) (*criticalv2.ServiceStatus, error) {
	var policy criticalv2.CriticalService
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

func (d *demo) state(want criticalv2.ServiceState) check {
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

// operatorLabels are those of the operator's Pods.
var operatorLabels = client.MatchingLabels{"app.kubernetes.io/name": operatorName, "app.kubernetes.io/component": "manager"}

func (d *demo) noPods(namespace string, labels client.MatchingLabels) check {
	return func(ctx context.Context) (bool, string, error) {
		var pods corev1.PodList
		err := d.cluster.List(ctx, &pods, client.InNamespace(namespace), labels)
		return err == nil && len(pods.Items) == 0, fmt.Sprintf("%d Pods left", len(pods.Items)), err
	}
}
