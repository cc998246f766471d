package maintenance

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
)

// mostNamed is how many Services a line of the table names.
const mostNamed = 3

// listing is one run of `maintenance list`.
type listing struct {
	to            *access.Access
	format        *output.Flags
	allNamespaces bool
	// zone is that of the times in the table.
	zone *time.Location
}

func listCommand(to *access.Access) *cobra.Command {
	l := &listing{to: to, zone: time.Local}
	command := &cobra.Command{
		Use:     "list",
		Aliases: []string{"status"},
		Short:   "List what is announced",
		Long: `List the Maintenances: of which Services, whether they are announced now and why, until when, and which
workload gets its replicas back. Those that have ended, and are kept for a while, are listed, too.`,
		Example: `  kubectl critsvc maintenance list -A`,
		Args:    cobra.NoArgs,
		RunE:    func(command *cobra.Command, _ []string) error { return l.run(command.Context()) },
	}
	l.format = output.AddTo(command, output.Wide, output.JSON, output.YAML, output.Name)
	command.Flags().BoolVarP(&l.allNamespaces, "all-namespaces", "A", false, "List those of all namespaces")
	return command
}

func (l *listing) run(ctx context.Context) error {
	namespace := ""
	var err error
	if !l.allNamespaces {
		if namespace, err = l.to.Namespace(); err != nil {
			return err
		}
	}
	from, err := l.to.Client()
	if err != nil {
		return err
	}
	now := time.Now()
	maintenances, err := outage.MaintenancesOf(ctx, from, types.NamespacedName{Namespace: namespace})
	if err != nil {
		return err
	}
	policies, unseen, err := access.Policies(ctx, from, namespace, access.Unseen{})
	if err != nil {
		return err
	}
	view := viewOf(maintenances, policies)
	for _, notice := range unseen.Notices() {
		fmt.Fprintln(l.to.ErrOut, "Note: "+notice)
	}
	switch {
	case l.format.Structured():
		return l.format.Document(l.to.Out, view)
	case l.format.Format() == output.Name:
		return printNames(l.to.Out, view)
	case len(view.Maintenances) == 0:
		fmt.Fprintln(l.to.ErrOut, "No maintenance is announced.")
		return nil
	default:
		return l.print(l.format.Table(l.to.Out, l.columns()...), view, now)
	}
}

func printNames(out io.Writer, view *View) error {
	for i := range view.Maintenances {
		if _, err := fmt.Fprintf(out, "maintenance.mycrd.com/%s\n", view.Maintenances[i].Name); err != nil {
			return err
		}
	}
	return nil
}

func (l *listing) columns() []output.Column {
	columns := []output.Column{
		{Name: "NAME"}, {Name: "SERVICES"}, {Name: "STATE", Tone: output.ToneOfState}, {Name: "REASON"}, {Name: "UNTIL"}, {Name: "LEFT"},
		{Name: "WORKLOAD"}, {Name: "MESSAGE"}, {Name: "NEXT", Wide: true}, {Name: "RESTORED", Wide: true}, {Name: "PROBLEM", Wide: true},
	}
	if l.allNamespaces {
		columns = append([]output.Column{{Name: "NAMESPACE"}}, columns...)
	}
	return columns
}

func (l *listing) print(table *output.Table, view *View, now time.Time) error {
	for i := range view.Maintenances {
		item := &view.Maintenances[i]
		services := strings.Join(item.Services, ",")
		if more := len(item.Services) - mostNamed; more > 0 {
			services = fmt.Sprintf("%s,+%d", strings.Join(item.Services[:mostNamed], ","), more)
		}
		workload := ""
		if item.Workload != "" {
			workload = fmt.Sprintf("%s (%d)", item.Workload, item.Replicas)
		}
		cells := []string{
			item.Name, services, item.State, item.Reason, l.clock(item.Until), item.left(now),
			workload, item.Message, l.clock(item.Next), item.Restored, item.Problem,
		}
		if l.allNamespaces {
			cells = append([]string{item.Namespace}, cells...)
		}
		table.Row(cells...)
	}
	return table.Flush()
}

func (l *listing) clock(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.In(l.zone).Format("2006-01-02 15:04:05 MST")
}

// left is how long a maintenance lasts, or how long it is until the next window.
func (i *Item) left(now time.Time) string {
	switch {
	case i.Until != nil && i.Until.After(now):
		return duration.HumanDuration(i.Until.Sub(now))
	case i.Next != nil && i.Next.After(now):
		return "in " + duration.HumanDuration(i.Next.Sub(now))
	case i.Until != nil:
		return "over"
	default:
		return ""
	}
}
