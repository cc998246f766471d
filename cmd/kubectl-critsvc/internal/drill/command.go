package drill

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
	"github.com/critical-service/operator/internal/protection"
	"github.com/critical-service/operator/internal/text/terminal"
)

const (
	// longest is for how long a live drill may take an application away.
	longest = 10 * time.Minute

	example = `  # Ask what stands by, on every port; nothing is touched
  kubectl critsvc drill svc/shop

  # Take the application away for a minute, and measure what clients lose
  kubectl critsvc drill svc/shop --live --for 1m

  # The same in a pipeline: exit code 1 if no answer came for longer than a second
  kubectl critsvc drill svc/shop --live --yes --max-gap 1s -o json`
)

// options are the flags of the command.
type options struct {
	tries          int
	live, yes      bool
	length, maxGap time.Duration
	every          time.Duration
	image          string
	// withoutOperator makes the outage even if the operator cannot give the application
	// back should this program be killed.
	withoutOperator bool
}

// Result is what the command prints for programs.
type Result struct {
	Namespace string `json:"namespace"`
	Service   string `json:"service"`
	// Good reports whether the drill succeeded: everything that stands by answered,
	// and, live, no gap was longer than allowed.
	Good bool `json:"good"`
	// DryRun is what stands by answered.
	DryRun *DryRun `json:"dryRun"`
	// Live is the measurement of a live drill.
	Live *Live `json:"live,omitempty"`
}

// Command is `kubectl critsvc drill`.
func Command(to *access.Access) *cobra.Command {
	o := options{}
	cmd := &cobra.Command{
		Use:   "drill svc/NAME",
		Short: "Prove that what stands by answers; with --live, by a real outage",
		Long: "Ask what stands by for a Service, on every port, from a Pod inside the cluster, and report what a client would have seen and how fast. " +
			"Live traffic is not touched.\n\nWith --live, take the application away for a while, and measure how long clients get no answer. It asks first, it refuses when the standby is not ready, or the operator does not answer or cannot be permitted to give the application back, " +
			"and the application is given back at the end, when you interrupt it, and by the operator should this program be killed. See https://github.com/critical-service/operator/blob/main/docs/drills.md.\n\n" +
			"Exit code 0: it went well. 1: something did not answer, or no answer came for longer than --max-gap. 2: it could not be carried out, or was refused.",
		Example:           example,
		Args:              access.OneService,
		ValidArgsFunction: to.CompleteService,
	}
	flags := cmd.Flags()
	flags.IntVar(&o.tries, "tries", 10, "How often each port of each standby endpoint is asked")
	flags.BoolVar(&o.live, "live", false, "Make a real outage, and measure it")
	flags.BoolVarP(&o.yes, "yes", "y", false, "Do not ask before a real outage")
	flags.DurationVar(&o.length, "for", 30*time.Second, "How long the application is away in a live drill, at most 10m")
	flags.DurationVar(&o.maxGap, "max-gap", 2*time.Second, "How long a live drill may be without an answer")
	flags.DurationVar(&o.every, "every", 20*time.Millisecond, "Time between two questions to a port in a live drill")
	flags.BoolVar(&o.withoutOperator, "without-operator", false, "Make the outage even if the operator cannot give the application back should this program be killed")
	flags.StringVar(&o.image, "image", "", "Image of the operator that the prober Pod runs; by default that of the responder or of the operator")
	format := output.AddTo(cmd, output.JSON, output.YAML)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.validate(); err != nil {
			return err
		}
		name, err := to.Service(args[0])
		if err != nil {
			return err
		}
		drill, err := newDrill(to, &o, name)
		if err != nil {
			return err
		}
		result, err := drill.run(cmd.Context())
		if result == nil {
			return access.Explain(err)
		}
		if format.Structured() {
			err = errors.Join(err, format.Document(to.Out, result))
		} else {
			write(to.Out, output.PaletteOf(to.Out), &o, result)
		}
		switch {
		case err != nil:
			return access.Explain(err)
		case !result.Good:
			return access.ErrNo
		}
		return nil
	}
	return cmd
}

func (o *options) validate() error {
	switch {
	case o.tries < 1 || o.tries > 1000:
		return fmt.Errorf("--tries %d is out of range: give 1 to 1000", o.tries)
	case o.length < time.Second || o.length > longest:
		return fmt.Errorf("--for %s is out of range: give 1s to %s", o.length, longest)
	case o.every < 5*time.Millisecond || o.every > time.Second:
		return fmt.Errorf("--every %s is out of range: give 5ms to 1s", o.every)
	case o.maxGap <= 0:
		return fmt.Errorf("--max-gap %s is not positive", o.maxGap)
	}
	return nil
}

// drill is one run of the command.
type drill struct {
	*prober
	to      *access.Access
	options *options
	name    types.NamespacedName
	// workload is the application's.
	workload *outage.Workload
	// warned means that the user knows that the operator does not give it back.
	warned bool
}

func newDrill(to *access.Access, o *options, name types.NamespacedName) (*drill, error) {
	config, err := to.RESTConfig()
	if err != nil {
		return nil, err
	}
	reader, err := to.Client()
	if err != nil {
		return nil, err
	}
	logs, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &drill{prober: &prober{Client: reader, logs: logs, namespace: name.Namespace}, to: to, options: o, name: name}, nil
}

// progress reports on the error stream what goes on, in one line without control
// characters.
func (d *drill) progress(format string, args ...any) {
	fmt.Fprintln(d.to.ErrOut, terminal.OneLine(fmt.Sprintf(format, args...)))
}

// use sets the prober up for what was found.
func (d *drill) use(found *survey) {
	d.image, d.secrets, d.host = found.image, found.pullSecrets, protection.Host(&found.service)
}
