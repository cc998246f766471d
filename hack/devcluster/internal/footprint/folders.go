//go:build linux

package footprint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// These folders are fixed in containerd, libcni and the kubelet; everything else
// of theirs is directed into the state folder.
const (
	shimSockets    = "/run/containerd/s"
	cniResults     = "/var/lib/cni/results"
	devicePlugins  = "/var/lib/kubelet/device-plugins"
	containerLinks = "/var/log/containers"
)

// sharedFolders lists the fixed folders with those above them that may be missing too.
func sharedFolders() []string {
	return []string{
		"/run/containerd", shimSockets,
		"/var/lib/cni", cniResults,
		"/var/lib/kubelet", devicePlugins,
		containerLinks,
	}
}

// CleanFolders removes the cluster's files from the folders that it shares with
// others, and the folders that it made. It must run before the state folder goes,
// because that says which files are ours.
func (f Footprint) CleanFolders(state layout.State) error {
	errs := []error{
		removeShimSockets(state),
		removeMatching(filepath.Join(cniResults, topology.Name+"-*")),
		removeContainerLinks(state),
	}
	if f.absent(devicePlugins) {
		errs = append(errs, removeMatching(filepath.Join(devicePlugins, "*")))
	}
	f.removeFolders()
	return errors.Join(errs...)
}

func (f Footprint) absent(dir string) bool {
	for _, d := range f.AbsentFolders {
		if d == dir {
			return true
		}
	}
	return false
}

// removeShimSockets removes the sockets of shims that were killed. Their names
// are hashes, and only the bundles in our containerd's state tell which are ours.
func removeShimSockets(state layout.State) error {
	addresses, err := filepath.Glob(state.Path("containerd", "state", "io.containerd.runtime.v2.task", "*", "*", "address"))
	if err != nil {
		return err
	}
	var errs []error
	for _, file := range addresses {
		address, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		socket := strings.TrimPrefix(strings.TrimSpace(string(address)), "unix://")
		if filepath.Dir(socket) == shimSockets {
			errs = append(errs, remove(socket))
		}
	}
	return errors.Join(errs...)
}

// removeContainerLinks removes the kubelet's links to the logs of our Pods.
func removeContainerLinks(state layout.State) error {
	links, err := filepath.Glob(filepath.Join(containerLinks, "*.log"))
	if err != nil {
		return err
	}
	var errs []error
	for _, link := range links {
		target, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(target, string(state)+"/") {
			errs = append(errs, remove(link))
		}
	}
	return errors.Join(errs...)
}

func removeMatching(pattern string) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	var errs []error
	for _, file := range files {
		errs = append(errs, remove(file))
	}
	return errors.Join(errs...)
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
