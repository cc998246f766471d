//go:build linux

package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
)

// Spec says how to start a component.
type Spec struct {
	Name string
	Path string
	Args []string
	// NoProxy removes the proxy variables: components that talk only to each
	// other must not send that through a company's HTTP proxy.
	NoProxy bool
	// Env is added to the environment.
	Env []string
	// Namespace is the file of the network namespace to run in; empty for the machine's own.
	Namespace string
}

// InNamespace is the command that becomes another one in a network namespace; that command itself
// if there is none.
func InNamespace(namespace string, command []string) []string {
	if namespace == "" {
		return command
	}
	return append([]string{"nsenter", "--net=" + namespace, "--"}, command...)
}

// Supervisor starts, finds and stops the processes of one cluster.
type Supervisor struct {
	state layout.State
	// Place puts a process that was started where it belongs; by default it stays where devcluster is.
	Place func(pid int) error
}

// NewSupervisor returns the supervisor of the cluster in this state folder.
func NewSupervisor(state layout.State) *Supervisor {
	return &Supervisor{state: state, Place: func(int) error { return nil }}
}

// markerVariable is in the environment of every process of a cluster. It finds
// those whose PID was never written down because devcluster was killed meanwhile,
// and containerd's shims, which are not our children.
const markerVariable = "DEVCLUSTER_OWNER"

func (s *Supervisor) marker() string { return markerVariable + "=" + string(s.state) }

// Environment returns the environment of a process of this cluster.
func (s *Supervisor) Environment(spec Spec) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if spec.NoProxy && strings.HasSuffix(strings.ToLower(name), "_proxy") {
			continue
		}
		if name == "KUBECONFIG" || name == markerVariable {
			continue
		}
		env = append(env, kv)
	}
	return append(append(env, spec.Env...), s.marker())
}

// Start runs a component in a session of its own, with its output in its log file.
func (s *Supervisor) Start(spec Spec) (Identity, error) {
	logFile, err := os.OpenFile(s.state.Log(spec.Name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return Identity{}, err
	}
	defer func() { _ = logFile.Close() }()

	command := InNamespace(spec.Namespace, append([]string{spec.Path}, spec.Args...))
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = string(s.state)
	cmd.Env = s.Environment(spec)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return Identity{}, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	// Identified before it is reaped: a component that ends at once has an identity too.
	id, err := Identify(cmd.Process.Pid)
	err = errors.Join(err, s.Place(cmd.Process.Pid))
	// Reaping keeps a component that fails at once from looking alive as a zombie.
	go func() { _ = cmd.Wait() }()
	if err != nil {
		return Identity{}, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	record, err := json.Marshal(id)
	if err != nil {
		return Identity{}, err
	}
	return id, os.WriteFile(s.recordFile(spec.Name), record, 0o644)
}

func (s *Supervisor) recordFile(name string) string { return s.state.Path("processes", name+".json") }

// Find returns the recorded identity of a component, alive or not.
func (s *Supervisor) Find(name string) (Identity, bool) {
	content, err := os.ReadFile(s.recordFile(name))
	if err != nil {
		return Identity{}, false
	}
	var id Identity
	if json.Unmarshal(content, &id) != nil {
		return Identity{}, false
	}
	return id, true
}

// Alive reports whether a component runs.
func (s *Supervisor) Alive(name string) bool {
	id, ok := s.Find(name)
	return ok && id.Alive()
}

// Owned returns every process of this cluster that carries the marker.
func (s *Supervisor) Owned() ([]Identity, error) {
	all, err := marked()
	return all[string(s.state)], err
}

// OtherClusters returns the state folders of other clusters that run on the machine.
func (s *Supervisor) OtherClusters() ([]string, error) {
	all, err := marked()
	delete(all, string(s.state))
	return slices.Sorted(maps.Keys(all)), err
}

// marked returns the processes that carry a marker, by the state folder in it.
func marked() (map[string][]Identity, error) {
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, err
	}
	found := map[string][]Identity{}
	for _, file := range environs {
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/environ", &pid); err != nil || pid == os.Getpid() {
			continue
		}
		// The identity is taken before the environment is read: if the PID is
		// reused in between, the identity no longer matches and nothing is signalled.
		id, err := Identify(pid)
		if err != nil {
			continue
		}
		environ, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if owner := ownerIn(environ); owner != "" {
			found[owner] = append(found[owner], id)
		}
	}
	return found, nil
}

func ownerIn(environ []byte) string {
	for kv := range strings.SplitSeq(string(environ), "\x00") {
		if owner, ok := strings.CutPrefix(kv, markerVariable+"="); ok {
			return owner
		}
	}
	return ""
}

// In returns every process in a network namespace: a node's components, containerd's shims, and
// Pods with the node's network.
func In(namespace string) ([]Identity, error) {
	wanted, err := os.Stat(namespace)
	if err != nil {
		return nil, err
	}
	links, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		return nil, err
	}
	var found []Identity
	for _, link := range links {
		var pid int
		if _, err := fmt.Sscanf(link, "/proc/%d/ns/net", &pid); err != nil {
			continue
		}
		id, err := Identify(pid)
		if err != nil {
			continue
		}
		if info, err := os.Stat(link); err == nil && os.SameFile(info, wanted) {
			found = append(found, id)
		}
	}
	return found, nil
}

// Kill ends processes by force and waits until they have gone.
func Kill(ctx context.Context, ids []Identity) error {
	for _, id := range ids {
		if err := id.Signal(syscall.SIGKILL); err != nil {
			return err
		}
	}
	if waitGone(ctx, ids, 10*time.Second) {
		return nil
	}
	var left []int
	for _, id := range ids {
		if id.Alive() {
			left = append(left, id.PID)
		}
	}
	return fmt.Errorf("processes %v do not end even after SIGKILL (perhaps blocked on I/O)", left)
}

func waitGone(ctx context.Context, ids []Identity, limit time.Duration) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		alive := false
		for _, id := range ids {
			alive = alive || id.Alive()
		}
		if !alive {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-deadline.C:
			return false
		case <-tick.C:
		}
	}
}
