// Package maintenance is the command that announces a planned outage: a page with a
// message and the time at which the Service is expected back.
package maintenance

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
)

// Command is `kubectl critsvc maintenance`.
func Command(to *access.Access) *cobra.Command {
	command := &cobra.Command{
		Use:   "maintenance",
		Short: "Announce a planned outage: a page with a message and an end",
		Long: `Announce a planned outage of a Service, which gets the page meanwhile, whatever its fallback is.

Nothing of yours is edited but the number of replicas, and that only if you say so: the announcement is a
Maintenance beside the Service, of the same name. As long as the application has ready endpoints it keeps the
traffic. A Maintenance of several Services, or one that recurs, is made by a file:
https://github.com/critical-service/operator/blob/main/docs/maintenance.md.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(onCommand(to), offCommand(to), listCommand(to))
	return command
}

// confirm asks the user; only a yes counts as one.
func confirm(to *access.Access, question string) (bool, error) {
	fmt.Fprintf(to.ErrOut, "%s [y/N] ", question)
	answer, err := bufio.NewReader(to.In).ReadString('\n')
	if err != nil && answer == "" {
		fmt.Fprintln(to.ErrOut)
		if err == io.EOF {
			return false, nil
		}
		return false, fmt.Errorf("read the answer: %w", err)
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

// isInteractive reports whether the input is a terminal, so that the user can be asked.
func isInteractive(to *access.Access) bool {
	file, isFile := to.In.(*os.File)
	return isFile && term.IsTerminal(int(file.Fd()))
}
