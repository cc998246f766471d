// Command bench measures failover: how long a Service is without an answer when its last Pod goes,
// with no operator, with the fallback Pod of a v1 CriticalService, and with the standby page of a v2
// one. All three suffer the same outages in turns, on the same node, in one run.
//
// Two probers watch each of them, at the same fixed rate: one asks the Service, as clients do, the
// other the application's Pod itself. So the moment at which the Pod stopped listening is seen, and not
// taken from what anybody says, and what is counted is the time after it.
//
//	variant.go  the three Services, and what protects them
//	outage.go   the ways in which the application's Pod goes
//	round.go    one outage, measured
//	table.go    many rounds in a table, in Markdown
//
// The operator must be installed; test/bench/run.sh does all of it. It must run on a node.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/critical-service/operator/test/cluster"
	"github.com/critical-service/operator/test/document"
)

type options struct {
	kubeconfig string
	image      string
	document   string
	rounds     int
	rate       int
	only       string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctrllog.SetLogger(logr.Discard())
	if err := command().ExecuteContext(ctx); err != nil {
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:          "bench",
		Short:        "Measure how long a Service is without an answer when its last Pod goes",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE:         func(command *cobra.Command, _ []string) error { return run(command.Context(), o) },
	}
	flags := command.Flags()
	flags.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "the cluster (env KUBECONFIG)")
	flags.StringVar(&o.image, "image", os.Getenv("DEMO_IMG"), "the image of test/workload (env DEMO_IMG)")
	flags.StringVar(&o.document, "document", "", "Markdown file in which the table is put between its two marks")
	flags.IntVar(&o.rounds, "rounds", 3, "how often each outage is measured")
	flags.StringVar(&o.only, "only", "", "measure only outages whose name contains this")
	flags.IntVar(&o.rate, "rate", 200, "requests per second and prober")
	return command
}

func run(ctx context.Context, o options) (err error) {
	if o.image == "" || o.rounds < 1 {
		return errors.New("--image must name the image of test/workload, and --rounds must be at least 1")
	}
	connection, err := cluster.Connect(o.kubeconfig)
	if err != nil {
		return err
	}
	b := &bench{options: o, cluster: connection}
	// An interrupted run cleans up too.
	defer func() { err = errors.Join(err, b.remove(context.WithoutCancel(ctx))) }()
	if err := b.prepare(ctx); err != nil {
		return err
	}
	results := map[string][]measurement{}
	for _, outage := range outages {
		if !strings.Contains(outage.name, o.only) {
			continue
		}
		for round := range o.rounds {
			measured, err := b.round(ctx, outage)
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", outage.name, round+1, err)
			}
			results[outage.name] = append(results[outage.name], measured)
			fmt.Fprintf(os.Stderr, "%s, round %d of %d: %s\n", outage.name, round+1, o.rounds, measured)
		}
	}
	text := b.table(results)
	fmt.Print(text)
	return document.Publish(o.document, "bench", text)
}

// eventually repeats look until it says done, or the limit is over.
func eventually(ctx context.Context, what string, limit time.Duration, look func() (done bool, state string)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		done, state := look()
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %s, still not: %s (%s)", limit, what, state)
		case <-tick.C:
		}
	}
}
