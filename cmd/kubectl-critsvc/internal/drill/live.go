package drill

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage"
	"github.com/critical-service/operator/internal/contract/appprotocol"
	"github.com/critical-service/operator/internal/probe/command"
	"github.com/critical-service/operator/internal/protection"
	"github.com/critical-service/operator/internal/text/terminal"
)

const (
	// recoveryTimeout is how long the application may take to answer again.
	recoveryTimeout = 5 * time.Minute
	// baseline is how many answers of the application are read before the outage, and
	// how many at the end prove that it is back.
	baseline = 25
	// baselineTimeout is how long these answers may take.
	baselineTimeout = 30 * time.Second
	// maxSilence is how long an outage that was made may be without an answer: then it
	// is ended at once.
	maxSilence = 15 * time.Second
	// spare is how much later than this program the operator gives the application back.
	spare = time.Minute
	// restoreTimeout is how long giving back may take.
	restoreTimeout = 30 * time.Second
)

// Live is the result of a live drill.
type Live struct {
	// Good reports whether no gap was longer than allowed, the fallback answered, and
	// the application came back.
	Good bool `json:"good"`
	// Began and Ended are when the application was taken away, and given back.
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended"`
	// Recovered reports whether the application was back when the drill ended.
	Recovered bool `json:"recovered"`
	// Others are the other critical Services that went down with this one: their clients
	// were not measured.
	Others []string `json:"others,omitempty"`
	// Ports are the measurements.
	Ports []Measurement `json:"ports"`
	// Problems say why the drill is not good.
	Problems []string `json:"problems,omitempty"`
}

// port is a port of the Service whose clients are measured.
type port struct {
	name     string
	protocol appprotocol.Protocol
	target   string
	by       signatures
}

// outage makes the outage, and measures it. The application is given back however it
// goes.
func (d *drill) outage(ctx context.Context, found *survey, dryRun *DryRun) (*Live, error) {
	watch := &watching{ports: portsOf(&found.service, dryRun)}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	asking := make(chan error, 1)
	go func() {
		asking <- d.ask(ctx, command.Options{Targets: watch.targets(), Every: d.options.every, For: deadlineOf(d.options.length)}, deadlineOf(d.options.length),
			func(seen command.Observation) bool {
				watch.add(seen, time.Now())
				return false
			})
	}()
	defer func() {
		stop()
		asking <- <-asking // The Pod is removed before the drill ends.
	}()
	d.progress("Asking svc/%s every %s, as its clients do ...", d.name.Name, d.options.every)
	if err := until(ctx, asking, baselineTimeout+startTimeout, watch.knowsApplication); err != nil {
		return nil, fmt.Errorf("no outage is made: the application does not answer the prober Pod: %w%s", err, watch.lastProblem())
	}
	return d.takeAway(ctx, watch, asking)
}

func (d *drill) takeAway(ctx context.Context, watch *watching, asking chan error) (*Live, error) {
	// The operator has time to record what is owed, and is not faster than this program.
	limit := time.Now().Add(d.options.length + spare)
	away, err := outage.Begin(ctx, d, outage.Options{Service: d.name, Until: limit, Alone: d.alone})
	if err != nil {
		return nil, fmt.Errorf("no outage is made: %w", err)
	}
	live := &Live{Began: away.Began, Others: d.workload.Others}
	d.progress("The application is taken away for %s.", d.options.length)
	broken := d.hold(ctx, watch, asking, live.Began)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
	defer cancel()
	live.Ended = time.Now()
	if err := away.End(ending); err != nil {
		return live, fmt.Errorf("give the application back: %w; if the operator was permitted to, it does so at %s; else `kubectl critsvc maintenance off svc/%s -n %s` does",
			err, limit.Format(time.TimeOnly), d.name.Name, d.name.Namespace)
	}
	if broken == nil {
		d.progress("The application is given back. Waiting until it answers ...")
		back := until(ctx, asking, recoveryTimeout, func() bool { return watch.applicationIsBack(live.Ended) && d.isArmed(ctx) })
		live.Recovered = back == nil
	}
	watch.judge(live, d.options.maxGap)
	if broken != nil {
		return live, fmt.Errorf("the drill was aborted, and the application given back: %w", broken)
	}
	return live, nil
}

// hold waits until the outage is over: its time, an interruption, or a silence that
// is too long.
func (d *drill) hold(ctx context.Context, watch *watching, asking chan error, began time.Time) error {
	err := until(ctx, asking, d.options.length, func() bool { return watch.silentFor(began) > maxSilence })
	switch {
	case err == nil:
		return fmt.Errorf("no answer for %s%s", maxSilence, watch.lastProblem())
	case errors.Is(err, errTooLong):
		return nil
	default:
		return err
	}
}

// isArmed asks the status whether the operator sees the application.
func (d *drill) isArmed(ctx context.Context) bool {
	status, err := access.StatusOf(ctx, d, d.name)
	return err == nil && status != nil && status.State == criticalv2.StateArmed
}

var errTooLong = errors.New("it takes too long")

// until waits for a condition; it ends before if the drill is interrupted, or the
// prober Pod ends.
func until(ctx context.Context, asking chan error, timeout time.Duration, is func() bool) error {
	const often = 100 * time.Millisecond
	ticker := time.NewTicker(often)
	defer ticker.Stop()
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-asking:
			asking <- err // For the next that waits.
			return errors.Join(errors.New("the prober Pod ended"), err)
		case <-limit.C:
			return errTooLong
		case <-ticker.C:
			if is() {
				return nil
			}
		}
	}
}

// portsOf are the ports whose clients are measured: those that have a standby. A
// port is asked in the protocol of its clients. Where the standby was asked in
// another one, its answers are not known, and only gaps are measured.
func portsOf(service *corev1.Service, dryRun *DryRun) []*port {
	var ports []*port
	for _, candidate := range service.Spec.Ports {
		p := &port{name: protection.PortName(candidate), protocol: appprotocol.Of(candidate.AppProtocol, candidate.Port, candidate.Name)}
		hasStandby := false
		for _, endpoint := range dryRun.Endpoints {
			if endpoint.Port != p.name {
				continue
			}
			hasStandby = true
			if endpoint.Protocol == string(p.protocol) {
				p.by.fallback = append(p.by.fallback, endpoint.signatures...)
			}
		}
		if !hasStandby {
			continue
		}
		p.by.fallback = distinctOf(p.by.fallback)
		p.target = net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(int(candidate.Port))) + "/" + string(p.protocol)
		ports = append(ports, p)
	}
	return ports
}

func distinctOf(all []signature) []signature {
	var different []signature
	for _, one := range all {
		if !slices.Contains(different, one) {
			different = append(different, one)
		}
	}
	return different
}

// watching collects what the prober Pod sees.
type watching struct {
	mu    sync.Mutex
	ports []*port
	seen  map[string][]command.Observation
	// behind is how far the clock here is ahead of the prober's, less the time that a
	// line takes: the smallest distance between an answer there and its line here.
	behind time.Duration
	known  bool
}

func (w *watching) targets() []string {
	var targets []string
	for _, p := range w.ports {
		targets = append(targets, p.target)
	}
	return targets
}

func (w *watching) add(one command.Observation, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		w.seen = map[string][]command.Observation{}
	}
	if distance := now.Sub(one.Sent.Add(one.Took)); !w.known || distance < w.behind {
		w.behind, w.known = distance, true
	}
	w.seen[one.Target] = append(w.seen[one.Target], one)
}

// proberTime is a moment by the prober's clock.
func (w *watching) proberTime(here time.Time) time.Time { return here.Add(-w.behind) }

// knowsApplication reports whether the application has answered often enough on every
// port, and remembers their signatures.
func (w *watching) knowsApplication() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.ports {
		var known []signature
		count := 0
		for _, one := range w.seen[p.target] {
			if one.Answered {
				known = append(known, signatureOf(one))
				count++
			}
		}
		if count < baseline {
			return false
		}
		p.by.application = distinctOf(known)
	}
	return true
}

// applicationIsBack reports whether the last answers on every port are the
// application's. Where they cannot be distinguished, an answer is enough.
func (w *watching) applicationIsBack(ended time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := w.proberTime(ended)
	for _, p := range w.ports {
		seen := w.seen[p.target]
		if len(seen) < baseline {
			return false
		}
		for _, one := range seen[len(seen)-baseline:] {
			if one.Sent.Before(from) || !one.Answered || p.by.distinct() && p.by.recognize(one) != application {
				return false
			}
		}
	}
	return true
}

// silentFor is for how long the port that is worst off has had no answer.
func (w *watching) silentFor(began time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	var worst time.Duration
	for _, p := range w.ports {
		last := w.proberTime(began)
		for _, one := range w.seen[p.target] {
			if one.Answered && one.Sent.After(last) {
				last = one.Sent
			}
		}
		worst = max(worst, w.proberTime(time.Now()).Sub(last))
	}
	return worst
}

func (w *watching) lastProblem() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.ports {
		for _, one := range slices.Backward(w.seen[p.target]) {
			if !one.Answered {
				return fmt.Sprintf(" (port %s: it %s)", p.name, terminal.OneLine(one.Problem))
			}
		}
	}
	return ""
}

// judge measures every port, and says what is not as it should be.
func (w *watching) judge(live *Live, maxGap time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	complain := func(format string, args ...any) { live.Problems = append(live.Problems, fmt.Sprintf(format, args...)) }
	for _, p := range w.ports {
		m := measure(w.seen[p.target], &p.by, w.proberTime(live.Began), w.proberTime(live.Ended))
		m.Port, m.Protocol = p.name, string(p.protocol)
		live.Ports = append(live.Ports, m)
		if gap := m.LongestGap.Duration(); gap > maxGap {
			complain("on port %s there was no answer for %s, and %s was allowed", p.name, gap.Round(time.Millisecond), maxGap)
		}
		if m.Distinct && m.ByFallback == 0 {
			complain("on port %s the fallback never answered", p.name)
		}
	}
	if !live.Recovered {
		complain("the application did not answer again within %s", recoveryTimeout)
	}
	live.Good = len(live.Problems) == 0
}
