package suite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/critical-service/operator/test/scorecard/application"
	"github.com/critical-service/operator/test/scorecard/judge"
	"github.com/critical-service/operator/test/scorecard/verdict"
	"github.com/critical-service/operator/test/scorecard/world"
)

// Main is the scorecard program of an operator: `scorecard TEST` exercises the operator of the cluster in which it runs,
// and prints what `operator-sdk scorecard` expects of a test.
func (s Suite) Main() {
	// Scorecard reads all that a test prints as its result: libraries must not add to it.
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := s.Command().ExecuteContext(ctx); err != nil {
		os.Exit(1)
	}
}

// Command has a command for each test, and what goes with them.
func (s Suite) Command() *cobra.Command {
	root := &cobra.Command{
		Use:          "scorecard",
		Short:        "Custom scorecard tests of " + s.Operator.Name,
		SilenceUsage: true,
	}
	for _, check := range s.Checks {
		root.AddCommand(s.testCommand(check))
	}
	root.AddCommand(applicationCommand(), judgeCommand())
	return root
}

// testCommand prints a result whatever happens, and leaves it to scorecard to judge it: its status is 0.
func (s Suite) testCommand(check Check) *cobra.Command {
	var (
		bundle                string
		awaitTimeout, timeout time.Duration
	)
	command := &cobra.Command{
		Use:   check.Name,
		Short: check.Sentence,
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(command.Context(), timeout)
			defer cancel()
			surroundings, err := world.Here(s.Operator, bundle, awaitTimeout)
			if err != nil {
				return printStatus(command.OutOrStdout(), check.failure(err))
			}
			return printStatus(command.OutOrStdout(), check.In(ctx, world.New(check.Name, surroundings, verdict.NewJournal())))
		},
	}
	flags := command.Flags()
	flags.StringVar(&bundle, "bundle", "/bundle", "folder with the operator's bundle")
	flags.DurationVar(&awaitTimeout, "await-timeout", cmp.Or(s.AwaitTimeout, 90*time.Second), "how long to wait for one thing")
	flags.DurationVar(&timeout, "timeout", 4*time.Minute, "how long the test may take; less than scorecard's --wait-time")
	return command
}

func printStatus(out io.Writer, status v1alpha3.TestStatus) error {
	text, err := json.MarshalIndent(status, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}

func applicationCommand() *cobra.Command {
	var name string
	command := &cobra.Command{
		Use:   "application",
		Short: "The web server that the tests protect",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return application.Serve(command.Context(), name)
		},
	}
	command.Flags().StringVar(&name, "name", "application", "who answers, as the header "+application.Header+" says")
	return command
}

func judgeCommand() *cobra.Command {
	var report string
	command := &cobra.Command{
		Use:   "judge",
		Short: "Read what `operator-sdk scorecard --output json` prints, show it, and fail unless all is well",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return judge.Judge(command.InOrStdin(), command.OutOrStdout(), report)
		},
	}
	command.Flags().StringVar(&report, "junit", "", "file for a report in JUnit's format")
	return command
}
