// Package process runs an operator in a process of its own, as in production, for tests and
// benchmarks: a test program starts itself once more, as the operator.
package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/critical-service/operator/test/ports"
)

const (
	// asOperator in the environment makes a test program the operator.
	asOperator = "TEST_RUNS_OPERATOR"
	// waitTimeout is far more than an operator needs to end.
	waitTimeout = time.Minute
)

// AsOperator is the variable that makes a program, which begins with Main, the operator.
const AsOperator = asOperator + "=1"

// Main runs the tests of a package, or, in a process that a test has started, the operator.
// It is all that a TestMain does.
func Main(operator func(context.Context) error, tests func() int) {
	if _, isOperator := os.LookupEnv(asOperator); !isOperator {
		os.Exit(tests())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	err := operator(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Process is an operator that runs.
type Process struct {
	// PID is its number.
	PID int
	// Ended gets the error with which it has ended.
	Ended chan error
	// Kill sends it a signal; nil says that it has ended, or is about to.
	Kill func(os.Signal) error
	// Log is what it wrote.
	Log *Journal
	// Health is where it serves its probes, Webhook where it serves conversion.
	Health, Webhook string

	t *testing.T
}

// Start starts an operator with a kubeconfig, in a namespace, and with variables. It stops
// with the test, and well.
func Start(t *testing.T, kubeconfig, namespace string, variables ...string) *Process {
	t.Helper()
	variables = append([]string{AsOperator, "WEBHOOK_CERT_DIR=" + t.TempDir()}, variables...)
	p, err := Launch(os.Args[0], kubeconfig, namespace, variables...)
	gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
	p.t = t
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			t.Logf("the operator's log:\n%s", p.Log)
		}
	})
	return p
}

// Launch starts a program that is an operator, outside of a test.
func Launch(program, kubeconfig, namespace string, variables ...string) (*Process, error) {
	health, err := ports.FreeUntilExit()
	if err != nil {
		return nil, err
	}
	webhook, err := ports.FreeUntilExit()
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(webhook)
	if err != nil {
		return nil, err
	}
	p := &Process{Ended: make(chan error, 1), Log: &Journal{}, Health: health, Webhook: webhook}
	command := exec.Command(program) //nolint:noctx // It is ended by a signal, and not killed.
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "POD_NAMESPACE="+namespace,
		"LEADER_ELECT=false", "METRICS_BIND_ADDRESS=0", "LOG_FORMAT=text", "HEALTH_PROBE_BIND_ADDRESS="+p.Health,
		"WEBHOOK_PORT="+port, "WEBHOOK_URL=https://"+p.Webhook)
	command.Env = append(command.Env, variables...)
	command.Stdout, command.Stderr = p.Log, p.Log
	if err := command.Start(); err != nil {
		return nil, err
	}
	p.PID = command.Process.Pid
	go func() { p.Ended <- command.Wait() }()
	p.Kill = command.Process.Signal
	return p, nil
}

// Stop ends the operator, once, and wants it to end well.
func (p *Process) Stop() {
	p.t.Helper()
	if err := p.End(); err != nil {
		p.t.Error(err)
	}
}

// End ends the operator, once, and says if it does not end well.
func (p *Process) End() error {
	if p.Kill == nil {
		return nil
	}
	_ = p.Kill(syscall.SIGTERM) // If it has ended by itself, the error is reported below.
	p.Kill = nil
	select {
	case err := <-p.Ended:
		if err != nil {
			return fmt.Errorf("the operator ended with an error: %w", err)
		}
		return nil
	case <-time.After(waitTimeout):
		return errors.New("the operator does not end")
	}
}

// Die ends the operator without a chance to do anything.
func (p *Process) Die() {
	p.t.Helper()
	g := gomega.NewWithT(p.t)
	g.Expect(p.Kill(syscall.SIGKILL)).To(gomega.Succeed())
	p.Kill = nil
	g.Eventually(p.Ended).WithTimeout(waitTimeout).Should(gomega.Receive(gomega.HaveOccurred()))
}

// Ready reports whether the operator says that it is.
func (p *Process) Ready() error { return Get("http://" + p.Health + "/readyz") }

// Live reports whether the kubelet would leave it running.
func (p *Process) Live() error { return Get("http://" + p.Health + "/healthz") }

// Journal is what a process wrote, or wrote since it was cleared.
type Journal struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write keeps a piece of text.
func (j *Journal) Write(data []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(data)
}

// Clear forgets what was written.
func (j *Journal) Clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.text.Reset()
}

// String is what was written.
func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}
