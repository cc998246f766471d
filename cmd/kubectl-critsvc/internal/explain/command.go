package explain

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
	"github.com/critical-service/operator/internal/diagnosis"
	"github.com/critical-service/operator/internal/diagnosis/evidence"
)

// Command is `kubectl critsvc explain`.
func Command(to *access.Access) *cobra.Command {
	var format *output.Flags
	command := &cobra.Command{
		Use:   "explain svc/NAME",
		Short: "Explain one Service: what protects it, its state and why, what answers",
		Long: `Explain one Service: which CriticalService or ServiceFallback governs it and why, its state and since when,
what explains an outage, what answers now and what would in the next outage, its ports and endpoints, and recent events.

In an outage that the operator has no explanation for, the plugin looks for one itself, with your permissions.`,
		Example: `  kubectl critsvc explain svc/storefront -n shop
  kubectl critsvc explain svc/storefront -n shop -o json`,
		Args:              access.OneService,
		ValidArgsFunction: to.CompleteService,
		RunE: func(command *cobra.Command, arguments []string) error {
			return run(command.Context(), to, format, arguments[0])
		},
	}
	format = output.AddTo(command, output.JSON, output.YAML)
	return command
}

func run(ctx context.Context, to *access.Access, format *output.Flags, argument string) error {
	key, err := to.Service(argument)
	if err != nil {
		return err
	}
	reader, err := to.Client()
	if err != nil {
		return err
	}
	found, err := look(ctx, reader, key)
	if err != nil {
		return err
	}
	if found.needsDiagnosis() {
		diagnose(ctx, reader, &found)
	}
	now := time.Now()
	view := viewOf(found, now)
	if format.Structured() {
		return format.Document(to.Out, view)
	}
	return view.print(to.Out, output.PaletteOf(to.Out), now)
}

// diagnose looks for what explains the outage. What the user may not read is skipped.
func diagnose(ctx context.Context, reader client.Reader, found *facts) {
	read, err := evidence.Collect(ctx, reader, found.service, evidence.Usual)
	if err != nil {
		found.unread = append(found.unread, fmt.Sprintf("The cause could not be determined: %v.", err))
		return
	}
	found.diagnosed = new(diagnosis.Diagnose(read).OutageCause)
}
