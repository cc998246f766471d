// Command meter measures what the meter of a WebApp costs, side by side in one run with the
// application alone: latency at a steady rate, and CPU.
//
//	pod.go      the processes of a Pod: the application, and the meter before it
//	traffic.go  the requests: at a steady rate, and as many as there can be
//	table.go    all rounds in Markdown
//
// It needs no cluster. run.sh in the folder above builds the programs. The meter takes the ports
// that it has in a Pod.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/critical-service/operator/test/bench/measure"
	"github.com/critical-service/operator/test/document"
)

// block is where the table stands in the document.
const block = "bench meter"

type options struct {
	application, meter string
	document           string
	rounds             int
	steady, most       time.Duration
	rate               int
	connections        int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:          "meter",
		Short:        "Measure what the meter of a WebApp costs",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE:         func(command *cobra.Command, _ []string) error { return run(command.Context(), o) },
	}
	flags := command.Flags()
	flags.StringVar(&o.application, "application", "", "the program of test/workload, which serves the page")
	flags.StringVar(&o.meter, "meter", "", "the program of workloads/cmd/meter")
	flags.StringVar(&o.document, "document", "", "Markdown file in which the table is put between its two marks")
	flags.IntVar(&o.rounds, "rounds", 10, "how often each is measured")
	flags.DurationVar(&o.steady, "steady", 2500*time.Millisecond, "how long requests are sent at the steady rate, each time")
	flags.DurationVar(&o.most, "most", 500*time.Millisecond, "how long as many requests are sent as there can be, each time")
	flags.IntVar(&o.rate, "rate", 200, "the steady rate, in requests per second")
	flags.IntVar(&o.connections, "connections", 8, "how many connections send as many requests as they can")
	return command
}

func run(ctx context.Context, o options) (err error) {
	if o.application == "" || o.meter == "" {
		return errors.New("--application must name the program of test/workload, and --meter that of workloads/cmd/meter")
	}
	if o.rounds < 1 || o.connections < 1 || min(o.steady, o.most) < 100*time.Millisecond {
		return errors.New("--rounds and --connections must be at least 1, and --steady and --most at least 100ms")
	}
	load := measure.Load()
	p, err := startPod(ctx, o.application, o.meter)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	b := &bench{options: o, used: p.used, ways: [2]way{{title: "direct", url: p.application.url}, {title: "through the meter", url: p.meter.url}}}
	if err := b.measure(ctx); err != nil {
		return err
	}
	if err := p.counted(ctx, b.ways[1].requests()); err != nil {
		return err
	}
	memory, err := measure.Look(p.meter.pid)
	if err != nil {
		return err
	}
	text := b.markdown(load, memory.Peak)
	fmt.Print(text)
	return document.Publish(o.document, block, text)
}

// bench is one run.
type bench struct {
	options
	// used is the CPU time of the processes so far.
	used func() (usage, error)
	ways [2]way
}

// way is one way to the application, and what was measured on it.
type way struct {
	title, url string
	// latencies are those at the steady rate, by round, and steady is what its requests took of the CPU.
	latencies [][]time.Duration
	steady    cost
	// most is what as many requests as there can be took of it.
	most cost
}

func (w *way) requests() int { return w.steady.requests + w.most.requests }

// measure measures both ways in turns. Which comes first changes each round.
func (b *bench) measure(ctx context.Context) error {
	for round := range b.rounds {
		for turn := range b.ways {
			w := &b.ways[(round+turn)%len(b.ways)]
			if err := b.once(ctx, w); err != nil {
				return fmt.Errorf("%s, round %d: %w", w.title, round+1, err)
			}
		}
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, b.rounds)
	}
	return nil
}

// once is one stretch at the steady rate, and one with as many requests as there can be.
func (b *bench) once(ctx context.Context, w *way) error {
	steady, err := b.costOf(ctx, b.options.steady, func(ctx context.Context) (int, error) {
		latencies, err := steadily(ctx, w.url, b.rate)
		w.latencies = append(w.latencies, latencies)
		return len(latencies), err
	})
	if err != nil {
		return err
	}
	most, err := b.costOf(ctx, b.options.most, func(ctx context.Context) (int, error) { return flood(ctx, w.url, b.connections) })
	w.steady, w.most = w.steady.plus(steady), w.most.plus(most)
	return err
}

// costOf sends requests for some time, and reads what they take of the CPU.
func (b *bench) costOf(ctx context.Context, length time.Duration, send func(context.Context) (int, error)) (cost, error) {
	before, err := b.used()
	if err != nil {
		return cost{}, err
	}
	stretch, stop := context.WithTimeout(ctx, length)
	defer stop()
	requests, err := send(stretch)
	if err := errors.Join(err, ctx.Err()); err != nil {
		return cost{}, err
	}
	now, err := b.used()
	return cost{requests: requests, usage: usage{application: now.application - before.application, meter: now.meter - before.meter}}, err
}
