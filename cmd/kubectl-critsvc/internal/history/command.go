package history

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
)

// options are the flags of the command.
type options struct {
	to            *access.Access
	format        *output.Flags
	allNamespaces bool
}

// Command is `kubectl critsvc history`.
func Command(to *access.Access) *cobra.Command {
	o := &options{to: to}
	command := &cobra.Command{
		Use:   "history [svc/NAME]",
		Short: "List past outages: when, how long, how soon covered, by what, and why",
		Long: `List the outages of the protected Services, the latest first: when each began, how long it lasted, after what
time the fallback answered, which fallback, and what explains it.

An outage is a time during which a Service had no ready endpoint of its own, whether its fallback answered or not.`,
		Example: `  kubectl critsvc history -A
  kubectl critsvc history svc/storefront -n shop`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: to.CompleteService,
		RunE: func(command *cobra.Command, arguments []string) error {
			return o.run(command.Context(), arguments)
		},
	}
	o.format = output.AddTo(command, output.Wide, output.JSON, output.YAML)
	command.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "List the outages of all namespaces")
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
	now := time.Now()
	view, err := look(ctx, reader, scope, now)
	if err != nil {
		return err
	}
	if err := unknown(ctx, reader, scope, &view); err != nil {
		return err
	}
	if o.format.Structured() {
		return o.format.Document(o.to.Out, view)
	}
	for _, notice := range view.Notices {
		fmt.Fprintln(o.to.ErrOut, "Note: "+notice)
	}
	if len(view.Outages) == 0 {
		fmt.Fprintln(o.to.ErrOut, emptyMessage(scope))
		return nil
	}
	table := o.format.Table(o.to.Out, columns(o.allNamespaces)...)
	for i := range view.Outages {
		table.Row(row(&view.Outages[i], o.allNamespaces, now)...)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(o.to.ErrOut, "\n"+bounds())
	return nil
}

// look reads the outages that are asked for.
func look(ctx context.Context, reader client.Reader, scope scope, now time.Time) (View, error) {
	policies, unseen, err := access.Policies(ctx, reader, scope.namespace, access.Unseen{})
	view := viewOf(policies, scope, now)
	view.Notices = unseen.Notices()
	return view, err
}

func (o *options) scope(arguments []string) (scope, error) {
	switch {
	case o.allNamespaces && len(arguments) > 0:
		return scope{}, fmt.Errorf("a Service is named in one namespace: give either %s or --all-namespaces", arguments[0])
	case o.allNamespaces:
		return scope{}, nil
	case len(arguments) > 0:
		key, err := o.to.Service(arguments[0])
		return scope{namespace: key.Namespace, name: key.Name}, err
	default:
		namespace, err := o.to.Namespace()
		return scope{namespace: namespace}, err
	}
}

// unknown is an error if a Service is asked for that neither exists nor has a
// history. A user who may not read Services gets the history alone.
func unknown(ctx context.Context, reader client.Reader, scope scope, view *View) error {
	if scope.name == "" || len(view.Outages) > 0 {
		return nil
	}
	name := types.NamespacedName{Namespace: scope.namespace, Name: scope.name}
	err := reader.Get(ctx, name, &corev1.Service{})
	if apierrors.IsNotFound(err) {
		return access.NoService(name)
	}
	return nil
}

// emptyMessage says that there are no outages, and of what.
func emptyMessage(scope scope) string {
	switch {
	case scope.name != "":
		return fmt.Sprintf("No outage of Service %s/%s is recorded while it was protected.", scope.namespace, scope.name)
	case scope.namespace != "":
		return fmt.Sprintf("No outage of a protected Service is recorded in namespace %q. All namespaces: kubectl critsvc history -A", scope.namespace)
	default:
		return "No outage of a protected Service is recorded."
	}
}
