package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/bench/measure"
)

const (
	// eventsLimit is how long the next event of a phase may take.
	eventsLimit = 15 * time.Second
	// churnRate is how many slices are touched per second.
	churnRate = 10
	// idle is the share of a core up to which the operator has nothing to do.
	idle = 0.2
	// kubernetesRate is how many slices kube-controller-manager writes per second at most (its default
	// --kube-api-qps): so fast do applications fail that all fail at once. turnSample is how many do.
	kubernetesRate = 20
	turnSample     = 1000
	// restartSample is how many Services fail while the operator is stopped.
	restartSample = 10

	eventPromoted = "FallbackPromoted"
	eventDemoted  = "FallbackDemoted"
)

// The phases, by name.
const (
	phaseArm     = "arm"
	phaseFail    = "fail"
	phaseRecover = "recover"
	phaseChurn   = "churn"
	phaseRestart = "restart"
	phaseDelete  = "delete"
)

// phase is something that happens to a world.
type phase struct {
	name string
	act  func(b *bench, ctx context.Context, m *measured) error
}

// phases are in the order in which they happen.
var phases = []phase{
	{phaseArm, (*bench).arm},
	{phaseFail, (*bench).fail},
	{phaseRecover, (*bench).recover},
	{phaseChurn, (*bench).churn},
	{phaseRestart, (*bench).restart},
	{phaseDelete, (*bench).delete},
}

func phaseNames() []string {
	var names []string
	for _, phase := range phases {
		names = append(names, phase.name)
	}
	return names
}

// measured is one phase that is over.
type measured struct {
	name       string
	start, end time.Time
	cost       cost
	// first and last are how long after the change of the application the first and the last slice of
	// each Service's fallback followed. Where no application changes there is only last, from the
	// beginning of the phase.
	first, last []time.Duration
	// turned are slices of the operator's that were promoted or demoted, and events the events of that.
	turned, events int
	// afterResponder is how long after the responders were ready the last Service was armed, and
	// afterStart how long after its process started the operator promoted first.
	afterResponder, afterStart time.Duration
}

// arm creates the CriticalService, and waits until a fallback of every Service is published.
func (b *bench) arm(ctx context.Context, m *measured) error {
	if err := b.client.Create(ctx, b.policy()); err != nil {
		return err
	}
	if err := b.until(ctx, "armed", armed); err != nil {
		return err
	}
	m.last = b.tracker.since(m.start)
	var pods corev1.PodList
	if err := b.client.List(ctx, &pods, client.MatchingLabels{criticalv2.LabelResponder: criticalv2.ResponderServer}); err != nil {
		return err
	}
	m.afterResponder = max(b.tracker.lastChange().Sub(containersReady(pods.Items)), 0)
	return nil
}

// containersReady is when the containers of the last of some Pods became ready. A responder Pod itself
// is ready only when it is published.
func containersReady(pods []corev1.Pod) time.Time {
	var last time.Time
	for _, pod := range pods {
		for _, condition := range pod.Status.Conditions {
			at := condition.LastTransitionTime.Time
			if condition.Type == corev1.ContainersReady && condition.Status == corev1.ConditionTrue && at.After(last) {
				last = at
			}
		}
	}
	return last
}

func (b *bench) fail(ctx context.Context, m *measured) error    { return b.turn(ctx, m, true) }
func (b *bench) recover(ctx context.Context, m *measured) error { return b.turn(ctx, m, false) }

// turn lets all applications, or the first thousand, fail or recover, as fast as Kubernetes says so, and
// waits until the fallbacks are promoted, or demoted, and their events written.
func (b *bench) turn(ctx context.Context, m *measured, outage bool) error {
	what, reason := "demoted", eventDemoted
	if outage {
		what, reason = "promoted", eventPromoted
	}
	turned := b.world.turned()
	if err := b.setReadyPaced(ctx, turned, !outage); err != nil {
		return err
	}
	if err := b.untilCount(ctx, what, turned, followed(outage)); err != nil {
		return err
	}
	m.first, m.last = b.tracker.latencies()
	m.turned = b.tracker.slicesTurned()
	return b.awaitEvents(ctx, m, reason, turned)
}

// awaitEvents waits until the events of a phase are written, or no more come. How many there are is
// judged later.
func (b *bench) awaitEvents(ctx context.Context, m *measured, reason string, wanted int) error {
	for since := time.Now(); m.events < wanted && time.Since(since) < eventsLimit; {
		if err := b.pause(ctx); err != nil {
			return err
		}
		if now := b.tracker.eventsOf(reason); now > m.events {
			m.events, since = now, time.Now()
		}
	}
	return nil
}

// churn writes slices of applications that go on saying the same.
func (b *bench) churn(ctx context.Context, _ *measured) error {
	every := time.NewTicker(time.Second / churnRate)
	defer every.Stop()
	for number := range int(b.churnTime.Seconds() * churnRate) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case at := <-every.C:
			if err := b.touch(ctx, number%b.world.total(), at); err != nil {
				return err
			}
		}
	}
	return nil
}

// restart stops the operator, lets some applications fail, and starts it again.
func (b *bench) restart(ctx context.Context, m *measured) error {
	if err := b.operator.stop(ctx); err != nil {
		return err
	}
	count := min(restartSample, b.world.total())
	if err := b.setAllReady(ctx, count, false); err != nil {
		return err
	}
	m.start = time.Now()
	if err := b.operator.start(ctx); err != nil {
		return err
	}
	if err := b.findProcess(ctx); err != nil {
		return err
	}
	started, err := measure.Started(b.process())
	if err != nil {
		return err
	}
	if err := b.untilCount(ctx, "promoted", count, is(true)); err != nil {
		return err
	}
	m.last = b.tracker.since(m.start)
	m.afterStart = b.tracker.firstTurn().Sub(started)
	m.turned = b.tracker.slicesTurned()
	return b.awaitEvents(ctx, m, eventPromoted, count)
}

// delete deletes the CriticalService, and waits until nothing is published any more.
func (b *bench) delete(ctx context.Context, m *measured) error {
	if err := b.client.Delete(ctx, b.policy()); err != nil {
		return err
	}
	if err := b.until(ctx, "without a fallback", unarmed); err != nil {
		return err
	}
	m.last = b.tracker.since(m.start)
	return nil
}

// settle makes all as it was before a phase, so that the next one does not pay for it.
func (b *bench) settle(ctx context.Context, name string) error {
	if name == phaseRestart {
		if err := b.setAllReady(ctx, min(restartSample, b.world.total()), true); err != nil {
			return err
		}
		if err := b.until(ctx, "demoted", is(false)); err != nil {
			return err
		}
	}
	return b.quiet(ctx)
}

// quiet waits until the operator writes no slices and has nothing to do, for as long as that makes sense.
func (b *bench) quiet(ctx context.Context) error {
	deadline := time.Now().Add(calmLimit)
	for {
		before, err := measure.Look(b.process())
		if err != nil {
			return err
		}
		since := time.Now()
		for time.Since(since) < b.calm {
			if err := b.pause(ctx); err != nil {
				return err
			}
		}
		now, err := measure.Look(b.process())
		if err != nil {
			return err
		}
		busy := (now.CPU - before.CPU).Seconds() / time.Since(since).Seconds()
		if b.tracker.quiet() >= b.calm && busy < idle {
			return nil
		}
		if time.Now().After(deadline) {
			say("after %s the operator still has work (%.0f %% of a core): the next phase pays for it", calmLimit, busy*100)
			return nil
		}
	}
}
