// Package plugin is the kubectl plugin "critsvc": it reports which critical
// Services are down, since when, why, what answers meanwhile, and whether the next
// failover will work.
package plugin

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/doctor"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/drill"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/etcd"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/explain"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/history"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/maintenance"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/status"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/versions"
	"github.com/critical-service/operator/internal/text/terminal"
	"github.com/critical-service/operator/internal/version"
)

// Exit codes of every command.
const (
	// ExitNo is the code of a command that was carried out, and whose answer is no:
	// a doctor that found problems, a drill whose standby did not answer.
	ExitNo = 1
	// ExitError is the code of a command that could not be carried out.
	ExitError = 2
)

// Command is the root command.
func Command(streams genericiooptions.IOStreams) *cobra.Command {
	root := &cobra.Command{
		Use:           "kubectl-critsvc",
		Short:         "See and test what keeps critical Services answering",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       fmt.Sprintf("%s (commit %s)", version.Version, version.Commit),
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl critsvc"},
	}
	to := access.New(streams)
	to.Flags.AddFlags(root.PersistentFlags())
	root.AddCommand(
		status.Command(to),
		explain.Command(to),
		history.Command(to),
		doctor.Command(to),
		drill.Command(to),
		maintenance.Command(to),
		etcd.Command(to),
		versions.Command(to),
	)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	return root
}

// Run carries out a command line, and returns the code that the process ends with.
// Errors are written to the error stream.
func Run(ctx context.Context, streams genericiooptions.IOStreams, arguments []string) int {
	root := Command(streams) //nolint:contextcheck // Commands get the context from cobra, when they are executed.
	root.SetArgs(arguments)
	err := access.Explain(root.ExecuteContext(ctx))
	switch {
	case err == nil:
		return 0
	case errors.Is(err, access.ErrNo):
		return ExitNo
	default:
		fmt.Fprintf(streams.ErrOut, "error: %s\n", terminal.Lines(err.Error()))
		return ExitError
	}
}
