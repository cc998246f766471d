package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/critical-service/operator/test/bench/measure"
	"github.com/critical-service/operator/test/ports"
	"github.com/critical-service/operator/test/process"
)

const (
	startLimit = time.Minute
	// calmLength is how long the operator must have written nothing before it is measured.
	calmLength = 10 * time.Second
	calmLimit  = 2 * time.Minute
)

// look is one process while nothing happens.
type look struct {
	// since says since when nothing has happened.
	since    string
	length   time.Duration
	requests measure.Requests
	cpu      time.Duration
	// rss is the resident memory at the end, and peak the most that the process ever had.
	rss, peak int64
}

// writes are the requests that change something. The lease, which is renewed each second, is
// the only object that is written by PUT.
func (l look) writes() int { return l.requests["POST"] + l.requests["PATCH"] + l.requests["DELETE"] }

// share is how much of a core the process took, in percent.
func (l look) share() float64 { return l.cpu.Seconds() / l.length.Seconds() * 100 }

// measure looks at an operator that has made everything, and at one that has found it made.
func (b *bench) measure(ctx context.Context) (looks []look, err error) {
	for _, since := range []string{"everything was made", "a restart"} {
		found, err := b.runOnce(ctx, since, len(looks) == 0)
		if err != nil {
			return looks, err
		}
		say("%s", found)
		looks = append(looks, found)
	}
	return looks, nil
}

// runOnce starts the operator, and looks at it until it has settled. The first one makes
// everything.
func (b *bench) runOnce(ctx context.Context, since string, isFirst bool) (found look, err error) {
	if b.metrics, err = ports.FreeUntilExit(); err != nil {
		return found, err
	}
	variables, err := shipped()
	if err != nil {
		return found, err
	}
	say("Starting the operator")
	p, err := b.start(append(variables, "LEADER_ELECT=true", "POD_NAME=settled", "METRICS_SECURE=false", "METRICS_BIND_ADDRESS="+b.metrics)...)
	if err != nil {
		return found, err
	}
	defer func() {
		err = errors.Join(err, p.End())
		if err != nil {
			err = fmt.Errorf("%w; the operator's log ends:\n%s", err, end(p.Log.String()))
		}
	}()
	if err := b.started(ctx, p); err != nil {
		return found, err
	}
	if isFirst {
		say("Making %d Databases and %d AppConfigs", b.count, b.count)
		if err := b.build(ctx); err != nil {
			return found, err
		}
	}
	if err := b.settle(ctx); err != nil {
		return found, err
	}
	if err := b.quiet(ctx); err != nil {
		return found, err
	}
	say("Measuring for %s", b.length)
	return b.watch(ctx, p.PID, since)
}

func (b *bench) started(ctx context.Context, p *process.Process) error {
	return wait.PollUntilContextTimeout(ctx, lookEach, startLimit, true, func(context.Context) (bool, error) {
		select {
		case err := <-p.Ended:
			return false, fmt.Errorf("the operator has ended: %w", err)
		default:
			return p.Ready() == nil, nil
		}
	})
}

// scrape counts the operator's requests.
func (b *bench) scrape(ctx context.Context) (measure.Requests, error) {
	text, err := measure.Scrape(ctx, "http://"+b.metrics+"/metrics", "")
	if err != nil {
		return nil, err
	}
	return measure.RequestsOf(text)
}

// quiet waits until the operator has written nothing for a while. Where that does not come,
// what it writes is measured.
func (b *bench) quiet(ctx context.Context) error {
	last, since := -1, time.Now()
	for limit := since.Add(calmLimit); time.Since(since) < b.calm && time.Now().Before(limit); {
		requests, err := b.scrape(ctx)
		if err != nil {
			return err
		}
		if writes := (look{requests: requests}).writes(); writes != last {
			last, since = writes, time.Now()
		}
		if err := pause(ctx, lookEach); err != nil {
			return err
		}
	}
	return nil
}

// watch looks at a process. CPU is read within the scrapes, which cost some.
func (b *bench) watch(ctx context.Context, pid int, since string) (found look, err error) {
	found = look{since: since}
	before, err := b.scrape(ctx)
	if err != nil {
		return found, err
	}
	used, err := measure.Look(pid)
	if err != nil {
		return found, err
	}
	began := time.Now()
	if err := pause(ctx, b.length); err != nil {
		return found, err
	}
	usedNow, err := measure.Look(pid)
	if err != nil {
		return found, err
	}
	found.length = time.Since(began)
	now, err := b.scrape(ctx)
	found.requests, found.cpu, found.rss, found.peak = now.Since(before), usedNow.CPU-used.CPU, usedNow.RSS, usedNow.Peak
	return found, err
}

// end is the end of a log.
func end(log string) string { return log[max(0, len(log)-4000):] }
