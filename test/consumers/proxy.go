//go:build linux

package consumers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// BinFolder is the variable with the folder into which build.sh has built the ingress controllers.
const BinFolder = "CONSUMERS"

// Proxy is an ingress controller that runs on this machine.
type Proxy struct {
	// Name is what people call it, with its version.
	Name string
	// IngressClass is the class of the Ingresses that it serves.
	IngressClass string
	// Controller is the value of spec.controller of that class.
	Controller string
	// ServiceAnnotations make it send a Service's traffic to the ClusterIP, and not to the endpoints.
	ServiceAnnotations map[string]string
	// URL is where it answers.
	URL string

	command *exec.Cmd
	// ended is closed when the command has ended, and failure says how then.
	ended   chan struct{}
	failure error
	log     *os.File
}

// stopLimit is longer than the controllers let their connections drain.
const stopLimit = 15 * time.Second

// start runs a command and waits until the proxy answers, which it does with 404 for a host it does
// not know. What the command writes goes into a file in folder.
func (p *Proxy) start(ctx context.Context, folder string, command *exec.Cmd) error {
	log, err := os.Create(filepath.Join(folder, p.IngressClass+".log"))
	if err != nil {
		return err
	}
	command.Stdout, command.Stderr = log, log
	// Its own group, so that the children of a controller end with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return errors.Join(err, log.Close())
	}
	p.command, p.log, p.ended = command, log, make(chan struct{})
	go func() {
		p.failure = command.Wait()
		close(p.ended)
	}()

	const startLimit = time.Minute
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	client := NewClient(nil)
	for tick := time.NewTicker(50 * time.Millisecond); client.Status(ctx, p.URL) == 0; {
		select {
		case <-tick.C:
		case <-p.ended:
			return errors.Join(fmt.Errorf("%s ended before it answered (%w); its last words:\n%s", p.Name, p.failure, p.Log()), p.Stop())
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s does not answer at %s after %s; its last words:\n%s", p.Name, p.URL, startLimit, p.Log()), p.Stop())
		}
	}
	return nil
}

// Stop ends the proxy and its children.
func (p *Proxy) Stop() error {
	group := -p.command.Process.Pid
	_ = syscall.Kill(group, syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopLimit):
	}
	// What is left of the group, if it did not follow.
	_ = syscall.Kill(group, syscall.SIGKILL)
	return p.log.Close()
}

// Log is the end of what the proxy has written.
func (p *Proxy) Log() string {
	content, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	const enough = 4000
	return string(content[max(0, len(content)-enough):])
}

// freePorts finds ports of this machine on which nothing listens.
func freePorts(ctx context.Context, count int) (ports []string, err error) {
	// All stay taken until the last is found, so that none is found twice.
	var listeners []net.Listener
	defer func() {
		for _, listener := range listeners {
			err = errors.Join(err, listener.Close())
		}
	}()
	for range count {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", ":0")
		if err != nil {
			return nil, err
		}
		listeners = append(listeners, listener)
		_, port, err := net.SplitHostPort(listener.Addr().String())
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}
