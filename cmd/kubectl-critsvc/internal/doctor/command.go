package doctor

import (
	"bytes"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/doctor/checkup"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
)

const example = `  # Everything that is critical in the current namespace
  kubectl critsvc doctor

  # One Service, whether it is critical or not
  kubectl critsvc doctor svc/shop -n shop

  # The whole cluster, for a pipeline: exit code 1 if there is a problem or a warning
  kubectl critsvc doctor -A --strict -o json`

// Command is `kubectl critsvc doctor`.
func Command(to *access.Access) *cobra.Command {
	var everywhere, strict bool
	cmd := &cobra.Command{
		Use:   "doctor [svc/NAME]",
		Short: "Check before the outage whether the failover will work",
		Long: "Check the installation and the critical Services of a namespace, or one Service, before the outage. Each finding says what was found, " +
			"why it matters and how to fix it.\n\nThe standby is asked in the protocol of each port, through the API server. Nothing is changed.\n\n" +
			"Exit code 0: no problem was found. 1: there are problems (or, with --strict, warnings), or it is not known, because the standby of a Service " +
			"was not checked. 2: it could not be carried out.",
		Example:           example,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: to.CompleteService,
	}
	cmd.Flags().BoolVarP(&everywhere, "all-namespaces", "A", false, "Check the critical Services of all namespaces")
	cmd.Flags().BoolVar(&strict, "strict", false, "End with exit code 1 for warnings, too")
	format := output.AddTo(cmd, output.JSON, output.YAML)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		collector, err := newCollector(to, everywhere)
		if err != nil {
			return err
		}
		var only *types.NamespacedName
		if len(args) == 1 {
			named, err := to.Service(args[0])
			if err != nil {
				return err
			}
			only = &named
		}
		world, err := collector.collect(cmd.Context(), only)
		if err != nil {
			return err
		}
		report := checkup.Examine(world)
		if format.Structured() {
			err = format.Document(to.Out, report)
		} else {
			var text bytes.Buffer
			write(&text, output.PaletteOf(to.Out), &report)
			_, err = text.WriteTo(to.Out)
		}
		if err != nil {
			return err
		}
		if report.Problems > 0 || report.Verdict == checkup.Unclear || strict && report.Warnings > 0 {
			return access.ErrNo
		}
		return nil
	}
	return cmd
}
