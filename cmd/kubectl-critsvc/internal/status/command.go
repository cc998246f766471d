package status

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/endpoints"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
)

// options are the flags of the command.
type options struct {
	to            *access.Access
	format        *output.Flags
	allNamespaces bool
	watch         bool
}

// Command is `kubectl critsvc status`.
func Command(to *access.Access) *cobra.Command {
	o := &options{to: to}
	command := &cobra.Command{
		Use:   "status [svc/NAME...]",
		Short: "List the protected Services: state, since when, why, what answers",
		Long: `List the Services that CriticalServices and ServiceFallbacks protect, the most urgent first.

STATE is Exposed (down, and nothing answers), Covered (down, and the fallback answers), Arming (up, but
the fallback would not work), Armed (up, and the fallback is prepared) or Ignored. READY counts the
endpoints of the application alone, never those of the fallback. FAILOVER says whether the fallback would
answer (yes, no, or ? if it is not known), by the operator's last self-test.`,
		Example: `  kubectl critsvc status -A
  kubectl critsvc status svc/storefront -n shop -o wide
  kubectl critsvc status -A --watch`,
		ValidArgsFunction: to.CompleteServices,
		RunE: func(command *cobra.Command, arguments []string) error {
			return o.run(command.Context(), arguments)
		},
	}
	o.format = output.AddTo(command, output.Wide, output.JSON, output.YAML, output.Name)
	command.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "List the Services of all namespaces")
	command.Flags().BoolVarP(&o.watch, "watch", "w", false, "Keep running, and show changes: in place on a terminal, as new rows elsewhere")
	return command
}

func (o *options) run(ctx context.Context, arguments []string) error {
	scope, err := o.scope(arguments)
	if err != nil {
		return err
	}
	reader, err := o.to.Client()
	if err != nil {
		return err
	}
	if o.watch {
		found, err := read(ctx, reader, scope.namespace, refusals{})
		if err != nil {
			return err
		}
		return o.follow(ctx, scope, found.refused)
	}
	found, view, err := look(ctx, reader, scope)
	if err != nil {
		return err
	}
	if err := o.print(&view); err != nil {
		return err
	}
	if len(view.Services) == 0 && len(scope.names) == 0 {
		fmt.Fprintln(o.to.ErrOut, emptyMessage(found, scope))
	}
	if !o.format.Structured() && o.format.Format() != output.Name {
		printSentences(o.to.ErrOut, &view, output.PaletteOf(o.to.ErrOut))
	}
	return o.missing(found, &view, scope)
}

// look reads the list; where a Service has just gone down, as the operator reports it.
func look(ctx context.Context, reader client.Reader, scope scope) (facts, View, error) {
	var found facts
	known := doubts{}
	view, err := endpoints.Settled(ctx, func() (View, error) {
		var err error
		found, err = read(ctx, reader, scope.namespace, found.refused)
		found.doubts = known
		return viewOf(found, scope), err
	}, func(view View) bool { return view.isLate() })
	return found, view, err
}

// scope reads which Services are asked for.
func (o *options) scope(arguments []string) (scope, error) {
	if o.allNamespaces {
		if len(arguments) > 0 {
			return scope{}, fmt.Errorf("a Service is named in one namespace: give either %s or --all-namespaces", arguments[0])
		}
		return scope{}, nil
	}
	namespace, err := o.to.Namespace()
	if err != nil {
		return scope{}, err
	}
	asked := scope{namespace: namespace}
	for _, argument := range arguments {
		name, err := o.to.Service(argument)
		if err != nil {
			return asked, err
		}
		asked.names = append(asked.names, name.Name)
	}
	return asked, nil
}

func (o *options) print(view *View) error {
	switch {
	case o.format.Structured():
		return o.format.Document(o.to.Out, view)
	case o.format.Format() == output.Name:
		return printNames(o.to.Out, view)
	default:
		return printTable(o.format.Table(o.to.Out, columns(o.allNamespaces)...), view, o.allNamespaces, time.Now())
	}
}

func printNames(out io.Writer, view *View) error {
	for i := range view.Services {
		if _, err := fmt.Fprintf(out, "service/%s\n", view.Services[i].Name); err != nil {
			return err
		}
	}
	return nil
}

// missing answers no if a Service that was named is not in the list. One that does not exist is an error.
func (o *options) missing(found facts, view *View, scope scope) error {
	var result error
	for _, name := range scope.names {
		switch {
		case slices.ContainsFunc(view.Services, func(s Service) bool { return s.Name == name }):
		case !found.refused.services && found.service(scope.namespace, name).Name == "":
			return access.NoService(types.NamespacedName{Namespace: scope.namespace, Name: name})
		default:
			fmt.Fprintf(o.to.ErrOut, "Service %s/%s is listed by no CriticalService or ServiceFallback that was read. Why: kubectl critsvc explain svc/%[2]s -n %[1]s\n", scope.namespace, name)
			result = access.ErrNo
		}
	}
	return result
}
