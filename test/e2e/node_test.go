//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/cluster"
)

// What can only be done on the node itself, as root: 'make e2e' runs on the node of the devcluster.

// processes are the IDs of all processes of a Pod, its sandbox included.
func (w *world) processes(pod *corev1.Pod) []int {
	w.t.Helper()
	found, err := cluster.Processes(pod)
	w.Expect(err).NotTo(HaveOccurred())
	return found
}

func (w *world) killProcesses(pod *corev1.Pod) {
	w.t.Helper()
	w.signal(pod, syscall.SIGKILL)
}

// signal sends a signal to all processes of a Pod.
func (w *world) signal(pod *corev1.Pod, signal syscall.Signal) {
	w.t.Helper()
	w.Expect(cluster.Signal(pod, signal)).To(Succeed())
}

// residentMemory is what the process of a Pod's only container has in memory, in bytes (VmRSS).
func (w *world) residentMemory(pod *corev1.Pod, program string) int64 {
	w.t.Helper()
	for _, pid := range w.processes(pod) {
		status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
		w.Expect(err).NotTo(HaveOccurred())
		values := map[string][]string{}
		for line := range strings.Lines(string(status)) {
			key, value, _ := strings.Cut(line, ":")
			values[key] = strings.Fields(value)
		}
		if values["Name"][0] != program {
			continue
		}
		kilobytes, err := strconv.ParseInt(values["VmRSS"][0], 10, 64)
		w.Expect(err).NotTo(HaveOccurred())
		return kilobytes << 10
	}
	w.t.Fatalf("no process of Pod %s is called %s", pod.Name, program)
	return 0
}

// stopAPIServer freezes the devcluster's kube-apiserver; start lets it go on, at the latest when the
// scenario ends. It is false on a cluster whose API server cannot be reached in this way.
func (w *world) stopAPIServer() (start func(), possible bool) {
	w.t.Helper()
	if os.Getenv(devcluster) == "" {
		return nil, false
	}
	start = w.freeze("kube-apiserver")
	// A process that computes on another processor stops a moment later.
	w.Eventually(func() error {
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		return w.Get(ctx, client.ObjectKey{Name: w.namespace}, &corev1.Namespace{})
	}).Should(MatchError(context.DeadlineExceeded), "the API server does not answer any more")
	return start, true
}

// devcluster is the environment variable with the path of the program that runs the cluster.
const devcluster = "E2E_DEVCLUSTER"

// freeze stops a component of the devcluster; thaw lets it go on, at the latest when the scenario ends.
func (w *world) freeze(component string) (thaw func()) {
	w.t.Helper()
	pid := w.component(component)
	w.Expect(syscall.Kill(pid, syscall.SIGSTOP)).To(Succeed())
	thaw = func() { _ = syscall.Kill(pid, syscall.SIGCONT) }
	w.t.Cleanup(thaw)
	return thaw
}

// component is the process ID of a component of the devcluster.
func (w *world) component(name string) int {
	w.t.Helper()
	for line := range strings.Lines(w.devcluster("status")) {
		// COMPONENT STATE PID AGE LOG
		if fields := strings.Fields(line); len(fields) > 2 && fields[0] == name {
			pid, err := strconv.Atoi(fields[2])
			w.Expect(err).NotTo(HaveOccurred(), "%s", line)
			return pid
		}
	}
	w.t.Fatalf("the devcluster has no component %s", name)
	return 0
}

// devcluster runs a command of the program that runs the cluster; up starts again what has ended.
func (w *world) devcluster(command string) string {
	w.t.Helper()
	output, err := exec.CommandContext(w.ctx, os.Getenv(devcluster), command).CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), "%s", output)
	return string(output)
}
