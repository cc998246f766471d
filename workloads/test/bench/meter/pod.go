package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/critical-service/operator/test/bench/measure"
	"github.com/critical-service/operator/test/ports"
	"github.com/critical-service/operator/test/process"
	"github.com/critical-service/operator/workloads/internal/metering"
)

const (
	localhost = "127.0.0.1"
	// startLimit and endLimit are far more than the programs need.
	startLimit, endLimit = time.Minute, 10 * time.Second
	lookEach             = 50 * time.Millisecond
)

// pod is what a Pod of a WebApp runs.
type pod struct{ application, meter *program }

// program is a process that serves.
type program struct {
	url   string
	pid   int
	log   process.Journal
	end   context.CancelFunc
	ended chan error
}

// usage is the CPU time of the processes.
type usage struct{ application, meter time.Duration }

// startPod starts both programs, and waits until they serve.
func startPod(ctx context.Context, application, meter string) (p *pod, err error) {
	address, err := ports.FreeUntilExit()
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	p = &pod{}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	if p.application, err = start(ctx, application, "web", "--port="+port); err != nil {
		return p, err
	}
	p.application.url = "http://" + address + "/"
	if err := p.application.serves(ctx, p.application.url+"readyz"); err != nil {
		return p, err
	}
	if p.meter, err = start(ctx, meter, "--app-port="+port, "--drain=0s"); err != nil {
		return p, err
	}
	p.meter.url = at(metering.Port, "/")
	return p, p.meter.serves(ctx, at(metering.MetricsPort, metering.ReadyPath))
}

func at(port int, path string) string {
	return "http://" + net.JoinHostPort(localhost, strconv.Itoa(port)) + path
}

// start starts a program. It ends with the context, or when it is stopped.
func start(ctx context.Context, path string, arguments ...string) (*program, error) {
	ctx, end := context.WithCancel(ctx)
	p := &program{end: end, ended: make(chan error, 1)}
	command := exec.CommandContext(ctx, path, arguments...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = endLimit
	command.Stdout, command.Stderr = &p.log, &p.log
	if err := command.Start(); err != nil {
		end()
		return nil, err
	}
	p.pid = command.Process.Pid
	go func() {
		p.ended <- command.Wait()
		close(p.ended)
	}()
	return p, nil
}

// serves waits until the program says that it is ready.
func (p *program) serves(ctx context.Context, url string) error {
	return wait.PollUntilContextTimeout(ctx, lookEach, startLimit, true, func(context.Context) (bool, error) {
		select {
		case err := <-p.ended:
			return false, fmt.Errorf("the program has ended: %w; it wrote:\n%s", err, &p.log)
		default:
			return process.Get(url) == nil, nil
		}
	})
}

// stop ends both, the meter first.
func (p *pod) stop() error { return errors.Join(p.meter.stop(), p.application.stop()) }

// stop ends the program. What it was not asked for is an error.
func (p *program) stop() error {
	if p == nil {
		return nil
	}
	p.end()
	if err := <-p.ended; err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("a program ended with an error: %w; it wrote:\n%s", err, &p.log)
	}
	return nil
}

// used is the CPU time of the processes so far.
func (p *pod) used() (usage, error) {
	application, err := measure.Look(p.application.pid)
	if err != nil {
		return usage{}, err
	}
	meter, err := measure.Look(p.meter.pid)
	return usage{application: application.CPU, meter: meter.CPU}, err
}

// counted holds the requests that were sent through the meter against its own count. Its ports are
// fixed, so that another one could have answered.
func (p *pod) counted(ctx context.Context, sent int) error {
	text, err := measure.Scrape(ctx, at(metering.MetricsPort, metering.MetricsPath), "")
	if err != nil {
		return err
	}
	return compare(text, sent)
}

func compare(scrape []byte, sent int) error {
	found, err := measure.Families(scrape, metering.MetricRequests)
	if err != nil {
		return err
	}
	counted := 0
	for _, metric := range found[metering.MetricRequests].GetMetric() {
		counted += int(metric.GetCounter().GetValue())
	}
	if counted != sent {
		return fmt.Errorf("the meter counted %d requests, and %d were sent through it", counted, sent)
	}
	return nil
}
