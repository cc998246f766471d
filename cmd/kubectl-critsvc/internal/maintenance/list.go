package maintenance

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
)

// View is the document of `maintenance list`.
type View struct {
	Maintenances []Item `json:"maintenances"`
}

// Item is one maintenance.
type Item struct {
	Namespace string `json:"namespace"`
	Service   string `json:"service"`
	// ConfigMap announces it.
	ConfigMap string `json:"configMap"`
	// Announced reports whether clients are informed of it now.
	Announced bool       `json:"announced"`
	Message   string     `json:"message,omitempty"`
	Until     *time.Time `json:"until,omitempty"`
	// Workload was scaled to zero, and gets Replicas back.
	Workload string `json:"workload,omitempty"`
	Replicas int32  `json:"replicas,omitempty"`
	// State is the Service's, as the operator says it.
	State string `json:"state,omitempty"`
	// Problem is why nothing is announced.
	Problem string `json:"problem,omitempty"`
}

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
		Long: `List the maintenances that are announced: of which Service, until when, and which workload gets its replicas
back. One whose end has passed, and which the operator may not remove, is listed as over.`,
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
	configs, err := maintenancesOf(ctx, from, types.NamespacedName{Namespace: namespace})
	if err != nil {
		return err
	}
	policies, unseen, err := access.Policies(ctx, from, namespace, access.Unseen{})
	if err != nil {
		return err
	}
	view := viewOf(configs, policies, now)
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
		if _, err := fmt.Fprintf(out, "service/%s\n", view.Maintenances[i].Service); err != nil {
			return err
		}
	}
	return nil
}

func viewOf(configs []corev1.ConfigMap, policies []criticalv2.Policy, now time.Time) *View {
	view := &View{Maintenances: []Item{}}
	for i := range configs {
		item := Item{
			Namespace: configs[i].Namespace, ConfigMap: configs[i].Name, Service: configs[i].Data[criticalv2.MaintenanceService],
		}
		m, err := criticalv2.ParseMaintenance(configs[i].Data)
		if err != nil {
			item.Problem = err.Error()
		} else {
			item.read(m, now)
		}
		if status := access.StatusIn(policies, types.NamespacedName{Namespace: item.Namespace, Name: item.Service}); status != nil {
			item.State = string(status.State)
		}
		view.Maintenances = append(view.Maintenances, item)
	}
	slices.SortFunc(view.Maintenances, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Service, b.Service), cmp.Compare(a.ConfigMap, b.ConfigMap))
	})
	return view
}

func (i *Item) read(m *criticalv2.Maintenance, now time.Time) {
	i.Message, i.Announced = m.Message, m.Announces(now)
	if m.Until != nil {
		i.Until = &m.Until.Time
	}
	if m.Workload != nil {
		i.Workload, i.Replicas = m.Workload.String(), m.Workload.Replicas
	}
	switch {
	case m.IsExpired(now):
		i.Problem = "it is over, and the operator may not remove it: `maintenance off` does"
	case m.Silent:
		i.Problem = "clients are not informed: it is a drill, or silent"
	}
}

func (l *listing) columns() []output.Column {
	columns := []output.Column{
		{Name: "SERVICE"}, {Name: "STATE", Tone: output.ToneOfState}, {Name: "UNTIL"}, {Name: "LEFT"}, {Name: "WORKLOAD"}, {Name: "MESSAGE"},
		{Name: "CONFIGMAP", Wide: true}, {Name: "PROBLEM", Wide: true},
	}
	if l.allNamespaces {
		columns = append([]output.Column{{Name: "NAMESPACE"}}, columns...)
	}
	return columns
}

func (l *listing) print(table *output.Table, view *View, now time.Time) error {
	for i := range view.Maintenances {
		item := &view.Maintenances[i]
		until, left := "", ""
		if item.Until != nil {
			until, left = item.Until.In(l.zone).Format("2006-01-02 15:04:05 MST"), "over"
			if item.Until.After(now) {
				left = duration.HumanDuration(item.Until.Sub(now))
			}
		}
		workload := ""
		if item.Workload != "" {
			workload = fmt.Sprintf("%s (%d)", item.Workload, item.Replicas)
		}
		cells := []string{item.Service, item.State, until, left, workload, item.Message, item.ConfigMap, item.Problem}
		if l.allNamespaces {
			cells = append([]string{item.Namespace}, cells...)
		}
		table.Row(cells...)
	}
	return table.Flush()
}
