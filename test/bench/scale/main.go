// Command scale measures the operator with thousands of Services: how long it takes, what it asks of
// the API server, and what CPU and memory that costs. It asks no Service for an answer, which is what
// test/bench does; here the operator alone is measured.
//
// The application of each Service is an EndpointSlice that this program writes itself, at the rate
// at which the controller manager writes slices when many applications fail at once. The addresses
// in these slices, and those of Pods on the fake node, lie in a range that run.sh makes unreachable.
//
//	world.go        the Services of one measurement, and their CriticalService
//	application.go  the slices that fail and recover
//	phase.go        what happens to a world, in order, and when each step is over
//	watch.go        when each Service's fallback was published, promoted and demoted
//	cost.go         what a phase costs: requests, CPU, memory, the scrape; test/bench/measure reads it
//	operator.go     the operator in the cluster: settings, stop, start
//	node.go         a node that runs Pods on paper
//	target.go       what must hold, and what should
//	table.go        all of it in Markdown, and as a picture
//
// The operator must be installed; run.sh does all of it. It must run on the operator's node.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/critical-service/operator/test/bench/measure"
	"github.com/critical-service/operator/test/cluster"
	"github.com/critical-service/operator/test/document"
)

type options struct {
	kubeconfig string
	document   string
	picture    string
	worlds     string
	phases     []string
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
		Use:          "scale",
		Short:        "Measure the operator with thousands of Services",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE:         func(command *cobra.Command, _ []string) error { return run(command.Context(), o) },
	}
	flags := command.Flags()
	flags.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "the cluster (env KUBECONFIG)")
	flags.StringVar(&o.document, "document", "", "Markdown file in which the tables are put between their two marks")
	flags.StringVar(&o.picture, "picture", "", "SVG file of the last world over time")
	flags.StringVar(&o.worlds, "worlds", "1x1000,200x5:fake,1x10000:fake",
		"namespaces x Services in each; with :fake the responders run on a fake node")
	flags.StringSliceVar(&o.phases, "phases", phaseNames(), "measure only these; arm is always one of them")
	return command
}

func run(ctx context.Context, o options) (err error) {
	worlds, err := parseWorlds(o.worlds)
	if err != nil {
		return err
	}
	for _, name := range o.phases {
		if !slices.Contains(phaseNames(), name) {
			return fmt.Errorf("--phases %s: there are %s", name, strings.Join(phaseNames(), ", "))
		}
	}
	connection, err := cluster.Connect(o.kubeconfig)
	if err != nil {
		return err
	}
	installed, err := newDeployment(ctx, connection)
	if err != nil {
		return err
	}
	// An interrupted run cleans up too.
	defer func() { err = errors.Join(err, installed.restore(context.WithoutCancel(ctx))) }()
	b, err := newBench(connection.Config, connection.Scheme(), installed, o.phases)
	if err != nil {
		return err
	}
	var results []result
	for _, world := range worlds {
		measured, err := b.measure(ctx, world)
		// What was measured is not lost: not with a later world, nor if its own is not removed in time.
		if measured.moments != nil {
			results = append(results, measured)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", world, err)
			if len(results) > 0 {
				err = errors.Join(publish(o, connection.Version, results), err)
			}
			return err
		}
	}
	return publish(o, connection.Version, results)
}

// publish prints what was measured, writes the documents, and fails if something missed that does not
// depend on the machine.
func publish(o options, version string, results []result) error {
	verdicts := judge(results)
	text := markdown(version, results, verdicts)
	if o.picture != "" {
		last := results[len(results)-1]
		drawn, err := draw(last)
		if err == nil {
			err = os.WriteFile(o.picture, []byte(drawn), 0o644)
		}
		if err != nil {
			return err
		}
		text += fmt.Sprintf("\n![%s](images/%s)\n", describe(last), filepath.Base(o.picture))
	}
	fmt.Print(text)
	if err := document.Publish(o.document, "bench", text); err != nil {
		return err
	}
	return measure.Missed(os.Stderr, verdicts)
}

// newID is the name of a run's own objects.
func newID() string { return "scale-" + utilrand.String(5) }

// say reports progress.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
