package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/critical-service/operator/test/prober"
)

const (
	// calm is how long all is well before the outage, so that kube-proxy has nothing left to do, and
	// hold how long the Service is watched once its fallback has answered: longer than any drain.
	calm = 3 * time.Second
	hold = 4 * time.Second
	// steady is how many requests in a row must tell the same before it is believed.
	steady = 50
	// outageLimit ends an outage in which a fallback does not answer.
	outageLimit = 30 * time.Second
	// requestLimit is short, because a request to an address that is gone gets no answer at all.
	requestLimit = time.Second
)

// measurement is what the clients of each variant missed in one outage.
type measurement map[string]missed

// missed is what the clients of one variant missed.
type missed struct {
	// Loss is counted from the moment at which the Pod stopped listening, or, where it goes on, from
	// the beginning of the outage.
	prober.Loss
	// early are the requests without an answer before that moment: the Pod still listened, but
	// requests no longer reached it.
	early int
}

func (m measurement) String() string {
	var parts []string
	for _, name := range []string{"none", "v1", "v2"} {
		loss := m[name]
		parts = append(parts, fmt.Sprintf("%s %.3f s, %d of %d requests lost (%d before)",
			name, loss.Unanswered.Seconds(), loss.Failed, loss.Requests, loss.early))
	}
	return strings.Join(parts, "; ")
}

// recorder is a prober that keeps what it has seen.
type recorder struct {
	mutex   sync.Mutex
	results []prober.Result
	stop    context.CancelFunc
	ended   chan error
}

func (b *bench) record(ctx context.Context, url string) *recorder {
	ctx, cancel := context.WithCancel(ctx)
	r := &recorder{stop: cancel, ended: make(chan error, 1)}
	probe := prober.Prober{URL: url, Rate: b.rate, Timeout: requestLimit, Marks: map[string]string{pageMark: fallback}}
	go func() {
		r.ended <- probe.Run(ctx, func(result prober.Result) {
			r.mutex.Lock()
			defer r.mutex.Unlock()
			r.results = append(r.results, result)
		})
	}()
	return r
}

func (r *recorder) finish() ([]prober.Result, error) {
	r.stop()
	err := <-r.ended
	return r.results, err
}

// latest says who answered the last requests, all of them.
func (r *recorder) latest(count int) string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.results) < count {
		return "too few requests yet"
	}
	last := r.results[len(r.results)-count:]
	for _, result := range last {
		if !result.Answered() {
			return "no answer: " + string(result.Fault)
		}
		if result.By != last[0].By {
			return result.By + " and " + last[0].By
		}
	}
	return last[0].By
}

// without says that none of the last requests was answered by who.
func (r *recorder) without(who string, count int) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return len(r.results) >= count &&
		!slices.ContainsFunc(r.results[len(r.results)-count:], func(result prober.Result) bool { return result.By == who })
}

// watched is a variant in an outage.
type watched struct {
	*variant
	app             *application
	service, direct *recorder
}

// round puts the variants through the same outage, one after the other. At the same moment would not
// do: kube-proxy lets a second pass between two changes of its rules, so that the outage of one
// Service would delay the failover of the next.
func (b *bench) round(ctx context.Context, o outage) (measurement, error) {
	measured := measurement{}
	for _, v := range b.variants {
		missed, err := b.measure(ctx, v, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.title, err)
		}
		measured[v.name] = missed
	}
	return measured, nil
}

// measure puts one variant through an outage.
func (b *bench) measure(ctx context.Context, v *variant, o outage) (result missed, err error) {
	app, err := b.start(ctx, v, o)
	if err != nil {
		return missed{}, err
	}
	w := &watched{
		variant: v, app: app,
		service: b.record(ctx, "http://"+net.JoinHostPort(v.service.Spec.ClusterIP, "80")),
		direct:  b.record(ctx, app.address()),
	}
	// A prober that goes on would disturb the next measurement.
	defer func() {
		w.service.stop()
		w.direct.stop()
		err = errors.Join(err, app.remove(context.WithoutCancel(ctx), b))
	}()
	began, err := w.suffer(ctx, b, o)
	if err != nil {
		return missed{}, err
	}
	return w.missed(o, began, time.Now())
}

// suffer waits until all is well, begins the outage, and watches until it is clear who answers.
func (w *watched) suffer(ctx context.Context, b *bench, o outage) (began time.Time, err error) {
	if err := w.answeredBy(ctx, shop, startLimit); err != nil {
		return began, err
	}
	if err := b.armed(ctx, w.variant); err != nil {
		return began, err
	}
	if err := pause(ctx, calm); err != nil {
		return began, err
	}
	began = time.Now()
	if err := o.begin(ctx, b, w.app); err != nil {
		return began, err
	}
	if w.protected {
		if err := w.answeredBy(ctx, fallback, outageLimit); err != nil {
			return began, err
		}
	}
	if !o.listens {
		// On a busy machine a node takes its time to end a Pod that the cluster has already forgotten.
		if err := eventually(ctx, "the Pod of Service "+w.name+" listens no more", outageLimit, func() (bool, string) {
			return w.direct.without(shop, steady), w.direct.latest(steady)
		}); err != nil {
			return began, err
		}
	}
	return began, pause(ctx, hold)
}

func (w *watched) answeredBy(ctx context.Context, who string, limit time.Duration) error {
	return eventually(ctx, fmt.Sprintf("%d requests in a row to Service %s are answered by %s", steady, w.name, who), limit,
		func() (bool, string) {
			latest := w.service.latest(steady)
			return latest == who, latest
		})
}

// missed counts what clients missed in an outage.
func (w *watched) missed(o outage, began, ended time.Time) (missed, error) {
	service, failed := w.service.finish()
	direct, alsoFailed := w.direct.finish()
	err := errors.Join(failed, alsoFailed)
	if err != nil {
		return missed{}, err
	}
	from := began
	if !o.listens {
		if from, err = stoppedIn(direct, began); err != nil {
			return missed{}, fmt.Errorf("the Pod of Service %s: %w", w.name, err)
		}
	}
	return missed{
		Loss:  prober.Lost(service, from, ended, shop),
		early: prober.Lost(service, began, from, shop).Failed,
	}, nil
}

// stoppedIn is when a Pod stopped listening in an outage. A request that it did not answer may
// have been sent a moment before the outage began.
func stoppedIn(direct []prober.Result, began time.Time) (time.Time, error) {
	stopped, is := prober.Stopped(direct, shop)
	switch {
	case !is:
		return stopped, errors.New("it did not stop listening in the outage")
	case stopped.Add(requestLimit).Before(began):
		return stopped, fmt.Errorf("it stopped listening %s before the outage", began.Sub(stopped))
	case stopped.Before(began):
		return began, nil
	default:
		return stopped, nil
	}
}

func pause(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
