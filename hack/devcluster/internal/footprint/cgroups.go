//go:build linux

package footprint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/critical-service/operator/hack/devcluster/internal/process"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

const (
	cgroupMount = "/sys/fs/cgroup"
	// procs is the file with the processes of a cgroup.
	procs = "cgroup.procs"
)

// unified reports whether the machine has cgroup v2 alone.
func unified() bool {
	var fs unix.Statfs_t
	return unix.Statfs(cgroupMount, &fs) == nil && fs.Type == unix.CGROUP2_SUPER_MAGIC
}

// cgroupRoots are the nodes' own cgroups, one per node and hierarchy. All Pods are in
// them, and nothing of anybody else is.
func cgroupRoots(nodes ...topology.Node) []string {
	var roots []string
	for _, hierarchy := range hierarchies() {
		for _, node := range nodes {
			roots = append(roots, filepath.Join(hierarchy, node.Cgroup()))
		}
	}
	return roots
}

// hierarchies are where cgroups are mounted.
func hierarchies() []string {
	if unified() {
		return []string{cgroupMount}
	}
	controllers, err := filepath.Glob(filepath.Join(cgroupMount, "*", procs))
	if err != nil {
		return nil
	}
	var found []string
	for _, file := range controllers {
		// cpu and cpuacct may be two names of one hierarchy.
		dir, err := filepath.EvalSymlinks(filepath.Dir(file))
		if err == nil && !slices.Contains(found, dir) {
			found = append(found, dir)
		}
	}
	return found
}

// CreateCgroups makes the cgroups under which the kubelets put all Pods.
func CreateCgroups(nodes []topology.Node) error {
	if unified() {
		if err := enableControllers(); err != nil {
			return err
		}
	}
	for _, dir := range cgroupRoots(nodes...) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("cgroup: %w", err)
		}
	}
	return nil
}

// systemCgroup is where the kernel shares out the processor to the components; empty if it does not by cgroups.
func systemCgroup() string {
	hierarchy := cgroupMount
	if !unified() {
		hierarchy = filepath.Join(cgroupMount, "cpu")
	}
	if _, err := os.Stat(filepath.Join(hierarchy, procs)); err != nil {
		return ""
	}
	return filepath.Join(hierarchy, topology.SystemCgroup)
}

// PlaceComponent moves a component, and what it starts, into the cgroup of all components.
func PlaceComponent(pid int) error {
	dir := systemCgroup()
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cgroup: %w", err)
	}
	err := os.WriteFile(filepath.Join(dir, procs), []byte(strconv.Itoa(pid)), 0o644)
	if errors.Is(err, unix.ESRCH) { // It has ended, which is for others to say.
		return nil
	}
	return err
}

// kubeletControllers are those that the kubelet insists on where the kernel has them.
var kubeletControllers = []string{"cpu", "cpuset", "hugetlb", "memory", "pids"}

// enabledControllers are those that cgroup v2 offers below the root.
func enabledControllers() []string { return readControllers("cgroup.subtree_control") }

func readControllers(file string) []string {
	content, err := os.ReadFile(filepath.Join(cgroupMount, file))
	if err != nil {
		return nil
	}
	return strings.Fields(string(content))
}

func switchController(sign, controller string) error {
	return os.WriteFile(filepath.Join(cgroupMount, "cgroup.subtree_control"), []byte(sign+controller), 0o644)
}

// enableControllers makes the kubelet's controllers available below the root:
// systemd enables only those that its own units use.
func enableControllers() error {
	available, enabled := readControllers("cgroup.controllers"), enabledControllers()
	for _, controller := range kubeletControllers {
		if !slices.Contains(available, controller) || slices.Contains(enabled, controller) {
			continue
		}
		if err := switchController("+", controller); err != nil {
			return fmt.Errorf("enable the cgroup controller %s (inside a container the cluster needs a cgroup namespace "+
				"whose root has no processes): %w", controller, err)
		}
	}
	return nil
}

// disableControllers takes back what enableControllers and the container runtime
// did. The kernel refuses it for what another program uses by now, as it should.
func (f Footprint) disableControllers() {
	if !unified() || f.Controllers == nil {
		return
	}
	for _, controller := range enabledControllers() {
		if !slices.Contains(f.Controllers, controller) {
			_ = switchController("-", controller)
		}
	}
}

// KillPods ends every process in the cgroups of nodes.
func KillPods(ctx context.Context, nodes ...topology.Node) error {
	var pods []process.Identity
	for _, root := range cgroupRoots(nodes...) {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.Name() != procs {
				// What vanished meanwhile has no processes.
				return nil
			}
			for _, pid := range readPIDs(path) {
				if id, err := process.Identify(pid); err == nil && !slices.Contains(pods, id) {
					pods = append(pods, id)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return process.Kill(ctx, pods)
}

func readPIDs(file string) []int {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var pids []int
	for field := range strings.FieldsSeq(string(content)) {
		if pid, err := strconv.Atoi(field); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// RemoveCgroups removes the cluster's cgroups, which must be empty of processes.
func (f Footprint) RemoveCgroups(ctx context.Context) error {
	roots := cgroupRoots(topology.AllNodes()...)
	if system := systemCgroup(); system != "" {
		roots = append(roots, system)
	}
	for _, root := range roots {
		if err := removeCgroup(ctx, root); err != nil {
			return err
		}
	}
	f.disableControllers()
	return nil
}

func removeCgroup(ctx context.Context, root string) error {
	var dirs []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, dir := range slices.Backward(dirs) {
		if err := removeCgroupFolder(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}

// removeCgroupFolder waits a little: the kernel lets go of a cgroup only after
// the last process in it has been torn down.
func removeCgroupFolder(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := os.Remove(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("remove cgroup: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("remove cgroup %s: it is still in use", dir)
		case <-tick.C:
		}
	}
}
