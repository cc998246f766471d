package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/bench/measure"
)

const (
	// interval is that between two looks at what is awaited.
	interval = 100 * time.Millisecond
	// waitLimit ends a phase that does not come to its end.
	waitLimit     = 10 * time.Minute
	demolishLimit = 15 * time.Minute
	calmLimit     = 5 * time.Minute
	// sampleInterval is that of the picture.
	sampleInterval = time.Second
)

// bench measures one world after the other.
type bench struct {
	client   client.Client
	clients  kubernetes.Interface
	operator subject
	phases   []string
	// calm is how long nothing may have changed before the next phase begins, and churnTime how long
	// slices are touched.
	calm, churnTime time.Duration

	// What follows is of one world.
	world      world
	id         string
	namespaces []*corev1.Namespace
	tracker    *tracker
	pid        atomic.Int64
}

// result is what was measured in one world.
type result struct {
	world world
	// load is the machine's, before anything happened.
	load     string
	phases   []measured
	moments  []moment
	restarts int
}

// newBench makes clients whose rate is not limited.
func newBench(config *rest.Config, scheme *runtime.Scheme, operator subject, phases []string) (*bench, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	b := &bench{operator: operator, phases: phases, calm: 5 * time.Second, churnTime: 30 * time.Second}
	var err error
	if b.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	config.ContentType = runtime.ContentTypeProtobuf
	b.clients, err = kubernetes.NewForConfig(config)
	return b, err
}

// measure builds a world, and puts it through the phases.
func (b *bench) measure(ctx context.Context, w world) (r result, err error) {
	b.world, b.id, b.namespaces, b.tracker = w, newID(), nil, newTracker()
	r.world, r.load = w, measure.Load()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := b.tracker.watchAll(ctx, b.clients); err != nil {
		return r, err
	}
	if w.fake {
		node, err := startNode(ctx, b.client, b.clients)
		if err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, node.remove(ctx)) }()
	}
	defer func() { err = errors.Join(err, b.demolish(context.WithoutCancel(ctx))) }()

	say("%s Services: starting the operator, and making them", w)
	if err := b.operator.configure(ctx, w.String(), !w.fake); err != nil {
		return r, err
	}
	if err := errors.Join(b.build(ctx), b.findProcess(ctx)); err != nil {
		return r, err
	}
	sampled := b.sample(ctx)
	for _, phase := range phases {
		if !b.wants(phase.name) {
			continue
		}
		m, err := b.run(ctx, phase)
		if err != nil {
			return r, fmt.Errorf("%s: %w", phase.name, err)
		}
		r.phases = append(r.phases, m)
	}
	if r.restarts, err = b.operator.restarts(ctx); err != nil {
		return r, err
	}
	stop()
	r.moments = <-sampled
	return r, nil
}

// wants reports whether a phase is to be measured. What has failed must recover.
func (b *bench) wants(name string) bool {
	return name == phaseArm || slices.Contains(b.phases, name) ||
		name == phaseFail && slices.Contains(b.phases, phaseRecover) || name == phaseRecover && slices.Contains(b.phases, phaseFail)
}

// run measures one phase. CPU and memory are read within the scrapes, which cost some.
func (b *bench) run(ctx context.Context, p phase) (measured, error) {
	m := measured{name: p.name}
	counted, err := b.count(ctx)
	if err != nil {
		return m, err
	}
	used, err := measure.Look(b.process())
	if err != nil {
		return m, err
	}
	b.tracker.begin()
	m.start = time.Now()
	if err := p.act(b, ctx, &m); err != nil {
		return m, err
	}
	m.end = time.Now()
	if p.name == phaseRestart {
		// The process that is measured began at zero.
		used, counted = measure.Process{}, counters{reads: counted.reads}
	}
	usedNow, err := measure.Look(b.process())
	if err != nil {
		return m, err
	}
	countedNow, err := b.count(ctx)
	if err != nil {
		return m, err
	}
	m.cost = difference(counted, countedNow, used, usedNow)
	say("%s Services, %s", b.world, m)
	return m, b.settle(ctx, p.name)
}

// count scrapes the operator and the API server.
func (b *bench) count(ctx context.Context) (counters, error) {
	var c counters
	begin := time.Now()
	text, err := b.operator.metrics(ctx)
	if err != nil {
		return c, err
	}
	c.scrapeTime, c.scrapeSize = time.Since(begin), len(text)
	if err := c.ofOperator(text); err != nil {
		return c, err
	}
	if text, err = measure.ScrapeServer(ctx, b.clients); err != nil {
		return c, err
	}
	err = c.ofServer(text)
	return c, err
}

func (b *bench) process() int { return int(b.pid.Load()) }

// findProcess waits until the operator runs.
func (b *bench) findProcess(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, interval/4, startLimit, true, func(ctx context.Context) (bool, error) {
		pid, err := b.operator.process(ctx)
		b.pid.Store(int64(pid))
		return err == nil, ctx.Err()
	})
}

// until waits until something holds of all Services.
func (b *bench) until(ctx context.Context, what string, holds func(*protected) bool) error {
	return b.untilCount(ctx, what, b.world.total(), holds)
}

func (b *bench) untilCount(ctx context.Context, what string, wanted int, holds func(*protected) bool) error {
	limit := time.Now().Add(waitLimit)
	for {
		count := b.tracker.count(holds)
		if count >= wanted {
			return nil
		}
		if time.Now().After(limit) {
			return fmt.Errorf("after %s only %d of %d Services are %s", waitLimit, count, wanted, what)
		}
		if err := b.pause(ctx); err != nil {
			return err
		}
	}
}

// pause lets a moment pass, and reports whether the tracker still sees everything.
func (b *bench) pause(ctx context.Context) error {
	if b.tracker.lost.Load() {
		return errors.New("the watch of slices and events has ended")
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(interval):
		return nil
	}
}

// moment is how things were at one time.
type moment struct {
	at              time.Time
	armed, promoted int
	// cpu is in cores, and rss in bytes.
	cpu float64
	rss int64
}

// sample looks at the operator until the context ends. While it is stopped, nothing is seen of it.
func (b *bench) sample(ctx context.Context) <-chan []moment {
	sampled := make(chan []moment, 1)
	go func() {
		var moments []moment
		tick := time.NewTicker(sampleInterval)
		defer tick.Stop()
		last, lastPID, lastAt := measure.Process{}, 0, time.Time{}
		for {
			select {
			case <-ctx.Done():
				sampled <- moments
				return
			case at := <-tick.C:
				pid := b.process()
				now, err := measure.Look(pid)
				m := moment{at: at, armed: b.tracker.count(armed), promoted: b.tracker.count(is(true)), rss: now.RSS}
				if err == nil && pid == lastPID {
					m.cpu = (now.CPU - last.CPU).Seconds() / at.Sub(lastAt).Seconds()
				}
				moments = append(moments, m)
				last, lastPID, lastAt = now, pid, at
			}
		}
	}()
	return sampled
}
