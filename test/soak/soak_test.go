//go:build e2e

package soak

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/bench/measure"
	"github.com/critical-service/operator/test/soak/fault"
	"github.com/critical-service/operator/test/soak/figures"
	"github.com/critical-service/operator/test/soak/invariant"
)

const (
	// settledFor is how long the world stands still before and after all faults, and the operator is measured.
	settledFor = time.Minute
	// calmFor is how long everything must be as it should be, and nothing be written, until the world is settled.
	calmFor = 20 * time.Second
	// settleLimit is how long it may take until everything is as it should be.
	settleLimit = 4 * time.Minute
	// measureEvery is how many seconds apart the operator's metrics are read.
	measureEvery = 5
)

// run is one soak.
type run struct {
	*world
	*traffic
	figures figures.Figures
	ledger  invariant.Ledger
	// last is the latest look.
	last  *invariant.Look
	token string
	// changes is a file beside the report, of what happened when, and which requests failed: it is read to find out why.
	changes *os.File
}

func TestSoak(t *testing.T) {
	for _, kind := range fault.Kinds() {
		NewWithT(t).Expect(injections).To(HaveKey(kind))
	}
	r := &run{world: newWorld(t), figures: figures.Figures{
		Seed: seed, Length: length, Machine: measure.Machine(), Services: len(protections), Problem: "the run did not get to its end.",
	}}
	nodes, err := r.nodes()
	r.Expect(err).NotTo(HaveOccurred())
	r.figures.Nodes = len(nodes)
	t.Cleanup(func() { r.Expect(r.uncordon()).To(Succeed()) })
	r.Expect(os.MkdirAll(filepath.Dir(reportFile), 0o755)).To(Succeed())
	r.changes, err = os.Create(strings.TrimSuffix(reportFile, ".md") + "-changes.txt")
	r.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { r.Expect(r.changes.Close()).To(Succeed()) })
	t.Cleanup(r.report)
	r.token, r.figures.Operator = r.metricsToken(), r.image()
	r.traffic = r.startTraffic()

	r.settle()
	r.begin()
	r.figures.Began = time.Now()
	r.figures.Before = r.standStill()
	r.injectAll()
	r.settle()
	r.figures.After = r.standStill()
	r.figures.Age = r.youngest()
	r.dissolve()

	r.figures.Problem = ""
	r.Expect(measure.Missed(os.Stdout, r.figures.Verdicts())).To(Succeed())
}

// everySecond looks at the world each second, and holds the invariants against it, until it is done or the time is over.
func (r *run) everySecond(limit time.Duration, do func(look *invariant.Look) (done bool)) (inTime bool) {
	r.t.Helper()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for began := time.Now(); time.Since(began) < limit; <-ticker.C {
		if do(r.look()) {
			return true
		}
	}
	return false
}

// look reads the world, and ends the run if it breaks an invariant.
func (r *run) look() *invariant.Look {
	r.t.Helper()
	var look *invariant.Look
	r.Eventually(func() (err error) {
		look, err = r.read()
		return err
	}).Should(Succeed(), "read the objects")
	look.At, look.Answered = time.Now(), r.latest()
	r.note(look.At, append(r.failures(), invariant.Changes(r.last, look)...)...)
	r.figures.Looks, r.last = r.figures.Looks+1, look
	if breaches := r.ledger.Add(look.At, invariant.Findings(look)); len(breaches) > 0 {
		var lines []string
		for _, breach := range breaches {
			lines = append(lines, breach.String())
		}
		r.fail("an invariant is broken", lines)
	}
	return look
}

// note writes what happened into the file of changes.
func (r *run) note(at time.Time, lines ...string) {
	r.t.Helper()
	for _, line := range lines {
		_, err := fmt.Fprintln(r.changes, at.UTC().Format("15:04:05.000"), line)
		r.Expect(err).NotTo(HaveOccurred())
	}
}

// fail ends the run with all that helps to find out why.
func (r *run) fail(why string, lines []string) {
	r.t.Helper()
	r.figures.Problem = why + ": " + strings.Join(lines, "; ")
	r.t.Log(policiesText(r.last, r.namespace))
	r.t.Log(r.Report(r.ctx, r.namespace, time.Now().Add(-5*time.Minute)))
	r.t.Log(r.Log(r.ctx, operator, r.namespace, time.Now().Add(-5*time.Minute)))
	r.t.Fatalf("%s at %s, with SOAK=%s SEED=%d:\n  %s\nthe last faults:\n%s", why, time.Now().UTC().Format(time.TimeOnly), length, seed,
		strings.Join(lines, "\n  "), r.lastFaults())
}

// settle waits until everything is as it should be, and has been for a while.
func (r *run) settle() {
	r.t.Helper()
	first, problems := r.look(), []string(nil)
	calm := func(look *invariant.Look) bool {
		problems = append(invariant.Unsettled(look), invariant.Written(first, look)...)
		if len(problems) > 0 {
			first = look
		}
		return look.At.Sub(first.At) >= calmFor
	}
	if !r.everySecond(settleLimit, calm) {
		r.fail(fmt.Sprintf("without a fault, the world does not settle within %s", settleLimit), problems)
	}
}

// standStill looks on for a minute in which nothing happens and the operator writes nothing, and returns what it uses.
func (r *run) standStill() *measure.Usage {
	r.t.Helper()
	first := r.look()
	var samples []measure.Usage
	seconds := 0
	r.everySecond(settledFor, func(look *invariant.Look) bool {
		if problems := invariant.Unsettled(look); len(problems) > 0 {
			r.fail("without a fault, the world does not stay settled", problems)
		}
		if written := invariant.Written(first, look); len(written) > 0 {
			r.fail("without a fault, the operator writes", written)
		}
		if seconds%measureEvery == 0 {
			usage, err := r.usage(r.token)
			r.Expect(err).NotTo(HaveOccurred())
			samples = append(samples, usage)
		}
		seconds++
		return false
	})
	return figures.Median(samples)
}

// injectAll injects the faults of the schedule.
func (r *run) injectAll() {
	r.t.Helper()
	steps, began := fault.Schedule(seed, serviceNames(), length), time.Now()
	done := r.everySecond(length+settleLimit, func(*invariant.Look) bool {
		for len(steps) > 0 && time.Since(began) >= steps[0].At {
			r.injectOne(steps[0])
			steps = steps[1:]
		}
		r.measure(began)
		return len(steps) == 0
	})
	r.Expect(done).To(BeTrue(), "%d faults took too long to inject", len(steps))
}

// measure adds what the operator uses to the figures, each minute. A fault may take a Pod away from it meanwhile.
func (r *run) measure(began time.Time) {
	r.t.Helper()
	if time.Since(began) < time.Duration(len(r.figures.Meanwhile))*time.Minute {
		return
	}
	usage, err := r.usage(r.token)
	if err != nil {
		r.note(time.Now(), "the operator's metrics cannot be read: "+err.Error())
	}
	r.figures.Meanwhile = append(r.figures.Meanwhile, usage)
}

func (r *run) injectOne(step fault.Step) {
	r.t.Helper()
	r.t.Logf("%s %s", time.Now().UTC().Format(time.TimeOnly), step)
	r.note(time.Now(), "fault: "+step.String())
	r.inject(step)
	r.Eventually(func() error { return injections[step.Kind](r.world, step) }).Should(Succeed(), step.String())
}

// dissolve deletes the policies, and waits until nothing of the operator's is left.
func (r *run) dissolve() {
	r.t.Helper()
	for i := range protections {
		r.Expect(r.remove(protections[i].policy(r.namespace))).To(Succeed())
	}
	r.Eventually(func() ([]string, error) {
		look, err := r.read()
		if err != nil {
			return nil, err
		}
		return invariant.Remaining(look), nil
	}).Should(BeEmpty(), "objects of the operator without a policy")
}

// report writes and prints the figures.
func (r *run) report() {
	if r.traffic != nil {
		r.mutex.Lock()
		r.figures.Requests, r.figures.Failed, r.figures.Injected = r.requests, maps.Clone(r.failed), r.history.Count()
		r.figures.Unexplained = maps.Clone(r.unexplained)
		r.mutex.Unlock()
	}
	text := r.figures.Markdown()
	r.Expect(os.WriteFile(reportFile, []byte(text), 0o644)).To(Succeed())
	fmt.Printf("\n%s\n", text)
}
