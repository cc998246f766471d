// Package command is `responder probe`: it asks addresses, each in its protocol, from
// where it runs, and prints what it saw, one line of JSON per question. The drill of
// the kubectl plugin runs it in a Pod inside the cluster.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/critical-service/operator/internal/contract/appprotocol"
	"github.com/critical-service/operator/internal/probe"
)

// Name is the subcommand.
const Name = "probe"

// The flags.
const (
	FlagTarget = "target"
	FlagTries  = "tries"
	FlagEvery  = "every"
	FlagFor    = "for"
	FlagHost   = "host"
)

// Options are what is asked, and how often.
type Options struct {
	// Targets are ADDRESS/PROTOCOL.
	Targets []string
	// Host is the name under which HTTP and TLS know the server.
	Host string
	// Tries is how often each target is asked; 0 is without end.
	Tries int
	// Every is the time between two questions to the same target. With 0 the next
	// question follows the answer to the last.
	Every time.Duration
	// For is when to end; 0 is never.
	For time.Duration
}

// Observation is the result of one question.
type Observation struct {
	// Target is as it was given: ADDRESS/PROTOCOL.
	Target string `json:"target"`
	// Sent is when the question was asked.
	Sent time.Time `json:"sent"`
	// Took is the time until the whole answer, or until the question failed.
	Took time.Duration `json:"tookNanos"`
	// Answered reports whether there was an answer.
	Answered bool `json:"answered"`
	// Status is the answer in a word of its protocol.
	Status string `json:"status,omitempty"`
	// Line is how the answer begins.
	Line string `json:"line,omitempty"`
	// Title is that of an HTML page.
	Title string `json:"title,omitempty"`
	// Bytes is how many came.
	Bytes int `json:"bytes,omitempty"`
	// Problem says why there was no answer.
	Problem string `json:"problem,omitempty"`
}

// Command is `responder probe`.
func Command() *cobra.Command {
	options := Options{}
	cmd := &cobra.Command{
		Use:   Name + " --" + FlagTarget + " ADDRESS:PORT/PROTOCOL",
		Short: "Ask addresses in their protocols, and print what was answered as lines of JSON",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().StringSliceVar(&options.Targets, FlagTarget, nil, "what to ask, as ADDRESS:PORT/PROTOCOL; may be given more than once. Protocols: "+protocols())
	cmd.Flags().StringVar(&options.Host, FlagHost, "", "the name by which HTTP and TLS call the server; empty is the address")
	cmd.Flags().IntVar(&options.Tries, FlagTries, 1, "how often each target is asked; 0 is until --"+FlagFor+" is over")
	cmd.Flags().DurationVar(&options.Every, FlagEvery, 0, "time from one question to the next of the same target, whether or not the first was answered; 0 waits for the answer")
	cmd.Flags().DurationVar(&options.For, FlagFor, 0, "time after which no more questions are asked; 0 is no limit")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return Run(cmd.Context(), options, cmd.OutOrStdout()) }
	return cmd
}

func protocols() string {
	var names []string
	for _, protocol := range appprotocol.All {
		names = append(names, string(protocol))
	}
	return strings.Join(names, ", ")
}

// Run asks until it has asked enough, or ctx ends.
func Run(ctx context.Context, options Options, out io.Writer) error {
	targets, err := options.parse()
	if err != nil {
		return err
	}
	if options.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, options.For)
		defer cancel()
	}
	lines := &lines{encoder: json.NewEncoder(out)}
	var asking sync.WaitGroup
	for i, target := range targets {
		asking.Go(func() {
			pace(ctx, options, func() {
				// A question that was asked is waited for: its answer counts.
				lines.write(ask(context.WithoutCancel(ctx), options.Targets[i], target))
			})
		})
	}
	asking.Wait()
	return lines.err
}

// parse reads the targets.
func (o *Options) parse() ([]probe.Target, error) {
	if len(o.Targets) == 0 {
		return nil, fmt.Errorf("nothing to ask: give --%s ADDRESS:PORT/PROTOCOL", FlagTarget)
	}
	if o.Tries < 0 || o.Every < 0 || o.For < 0 {
		return nil, fmt.Errorf("--%s, --%s and --%s must not be negative", FlagTries, FlagEvery, FlagFor)
	}
	if o.Tries == 0 && o.For == 0 {
		return nil, fmt.Errorf("--%s 0 asks without end: give --%s", FlagTries, FlagFor)
	}
	var targets []probe.Target
	for _, text := range o.Targets {
		address, protocol, _ := strings.Cut(text, "/")
		if _, _, err := net.SplitHostPort(address); err != nil || !slices.Contains(appprotocol.All, appprotocol.Protocol(protocol)) {
			return nil, fmt.Errorf("--%s %q is not ADDRESS:PORT/PROTOCOL, with one of the protocols %s", FlagTarget, text, protocols())
		}
		targets = append(targets, probe.Target{Address: address, Protocol: appprotocol.Protocol(protocol), Host: o.Host})
	}
	return targets, nil
}

// pace asks at the given pace. With an interval it is an open loop: a question that
// hangs does not keep the next ones from being asked, which would hide the outage
// that is to be measured.
func pace(ctx context.Context, options Options, ask func()) {
	var underWay sync.WaitGroup
	defer underWay.Wait()
	begin := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := 0; options.Tries == 0 || n < options.Tries; n++ {
		if options.Every == 0 {
			if ctx.Err() != nil {
				return
			}
			ask()
			continue
		}
		timer.Reset(time.Until(begin.Add(time.Duration(n) * options.Every)))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			underWay.Go(ask)
		}
	}
}

// ask asks once, and records the answer.
func ask(ctx context.Context, name string, target probe.Target) Observation {
	answer := &transcript{}
	target.Dial = answer.dial
	seen := Observation{Target: name, Sent: time.Now()}
	result := probe.Ask(ctx, target)
	seen.Answered, seen.Status, seen.Took, seen.Problem = result.Answered, result.Status, result.Took, result.Problem
	seen.Line, seen.Title, seen.Bytes = answer.summary(target.Protocol)
	return seen
}

// lines writes lines of JSON, one at a time.
type lines struct {
	mu      sync.Mutex
	encoder *json.Encoder
	err     error
}

func (l *lines) write(seen Observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = errors.Join(l.err, l.encoder.Encode(seen))
}
