package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/critical-service/operator/test/prober"
)

func probeCommand() *cobra.Command {
	var (
		probe    prober.Prober
		duration time.Duration
	)
	command := &cobra.Command{
		Use:   "probe URL",
		Short: "Ask a URL at a fixed rate and print what became of each request, one line of JSON each",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			probe.URL = args[0]
			ctx := command.Context()
			if duration > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, duration)
				defer cancel()
			}
			each, failed := prober.WriteLines(command.OutOrStdout())
			if err := probe.Run(ctx, each); err != nil {
				return err
			}
			return failed()
		},
	}
	flags := command.Flags()
	flags.IntVar(&probe.Rate, "rate", 100, "requests per second")
	flags.DurationVar(&probe.Timeout, "timeout", time.Second, "time that one request may take, connect included")
	flags.StringToStringVar(&probe.Marks, "mark", nil, "TEXT=NAME: an answer that has TEXT in its body is NAME's; may be given several times")
	flags.DurationVar(&duration, "duration", 0, "end after this time; 0 means go on until stopped")
	return command
}
