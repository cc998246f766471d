// Command bench measures what a Database costs in time, side by side in one run with what a
// user would do without it: from apply to the first answered query, beside the same Pod and
// Service applied by hand; and from the loss of the Pod to the next answered query, beside a
// StatefulSet.
//
//	contender.go  what is compared: the objects of each, and its Pod
//	model.go      the same Pod and Service by hand, from those that a Database made
//	client.go     who asks the database
//	table.go      all rounds in Markdown, and the target
//
// What the operator costs while nothing happens, the folder settled measures. Both operators
// must be installed; run.sh does all of it. It must run on a node.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/critical-service/operator/test/bench/measure"
	"github.com/critical-service/operator/test/cluster"
	"github.com/critical-service/operator/test/document"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// block is where the table stands in the document.
const block = "bench start"

type options struct {
	kubeconfig string
	document   string
	client     string
	rounds     int
}

// bench is one run.
type bench struct {
	options
	cluster   *cluster.Cluster
	namespace string
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
		Short:        "Measure how long a Database takes to start, and to replace its Pod",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE:         func(command *cobra.Command, _ []string) error { return run(command.Context(), o) },
	}
	flags := command.Flags()
	flags.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "the cluster (env KUBECONFIG)")
	flags.StringVar(&o.client, "client", "", "the program of test/mongodb, which asks a database")
	flags.StringVar(&o.document, "document", "", "Markdown file in which the table is put between its two marks")
	flags.IntVar(&o.rounds, "rounds", 10, "how often each is measured")
	return command
}

func run(ctx context.Context, o options) (err error) {
	if o.client == "" || o.rounds < 1 {
		return errors.New("--client must name the program of test/mongodb, and --rounds must be at least 1")
	}
	connection, err := cluster.Connect(o.kubeconfig, workloadsv1.AddToScheme)
	if err != nil {
		return err
	}
	if err := connection.AddressesAreRouted(ctx); err != nil {
		return err
	}
	b := &bench{options: o, cluster: connection, namespace: "bench-" + utilrand.String(5)}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}}
	if err := connection.Create(ctx, namespace); err != nil {
		return err
	}
	// An interrupted run cleans up too.
	defer func() {
		err = errors.Join(err, client.IgnoreNotFound(connection.Delete(context.WithoutCancel(ctx), namespace)))
	}()
	m, err := b.model(ctx)
	if err != nil {
		return err
	}
	var results []result
	for _, c := range comparisons(m) {
		r, err := b.compare(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.title, err)
		}
		results = append(results, r)
	}
	verdicts := judge(results)
	text := b.markdown(results, verdicts)
	fmt.Print(text)
	return errors.Join(document.Publish(o.document, block, text), measure.Missed(os.Stderr, verdicts))
}

// compare measures both contenders in turns. Who comes first changes each round.
func (b *bench) compare(ctx context.Context, c comparison) (result, error) {
	r := result{comparison: c}
	for round := range b.rounds {
		for turn := range c.contenders {
			who := (round + turn) % len(c.contenders)
			took, err := b.measure(ctx, &c, &c.contenders[who])
			if err != nil {
				return r, fmt.Errorf("%s, round %d: %w", c.contenders[who].title, round+1, err)
			}
			r.took[who] = append(r.took[who], took)
			fmt.Fprintf(os.Stderr, "%s, %s, round %d of %d: %s\n", c.title, c.contenders[who].title, round+1, b.rounds, measure.Seconds(took))
		}
	}
	return r, nil
}

// measure makes one contender, measures it, and removes it, so that the next one has the node
// for itself.
func (b *bench) measure(ctx context.Context, c *comparison, who *contender) (took time.Duration, err error) {
	name := who.name + "-" + utilrand.String(5)
	defer func() { err = errors.Join(err, b.remove(context.WithoutCancel(ctx), who, name)) }()
	began := time.Now()
	if err := b.create(ctx, who.objects(name)); err != nil {
		return 0, err
	}
	if err := b.answered(ctx, name); err != nil {
		return 0, err
	}
	took = time.Since(began)
	if !c.loses {
		return took, nil
	}
	if err := pause(ctx, calm); err != nil {
		return 0, err
	}
	return b.lose(ctx, who.pod(name), name)
}

func pause(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
