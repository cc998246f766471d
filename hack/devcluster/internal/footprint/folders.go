//go:build linux

package footprint

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// These folders are fixed in containerd, libcni, the kubelet and buildah;
// everything else of theirs is directed into the state folder.
const (
	shimSockets    = "/run/containerd/s"
	cniResults     = "/var/lib/cni/results"
	devicePlugins  = "/var/lib/kubelet/device-plugins"
	containerLinks = "/var/log/containers"
	// podLogs is fixed in the kubelet of Kubernetes 1.28. Later ones have the setting podLogsDir.
	podLogs   = "/var/log/pods"
	blobCache = "/var/lib/containers/cache"
)

// sharedFolders lists the fixed folders with those above them that may be missing too.
func sharedFolders() []string {
	return []string{
		"/run/containerd", shimSockets,
		"/var/lib/cni", cniResults,
		"/var/lib/kubelet", devicePlugins,
		containerLinks, podLogs,
		"/var/lib/containers", blobCache,
	}
}

// CleanFolders removes the cluster's files from the folders that it shares with
// others, and the folders that it made. It must run before the state folder goes,
// because that says which files are ours.
func (f Footprint) CleanFolders(state layout.State) error {
	errs := []error{
		removeCNIResults(state),
		removeLinksInto(filepath.Join(containerLinks, "*.log"), string(state)),
	}
	for _, node := range topology.AllNodes() {
		errs = append(errs, removeShimSockets(state.Node(node)), removePodLogs(podLogs, containerLinks, state.Node(node)))
	}
	// Nothing marks whose a file is in these, except that they were not there before.
	for _, dir := range []string{devicePlugins, blobCache} {
		if slices.Contains(f.AbsentFolders, dir) {
			errs = append(errs, removeMatching(filepath.Join(dir, "*")))
		}
	}
	f.removeFolders()
	return errors.Join(errs...)
}

// removeCNIResults removes the records of our Pods' networks: those of a network
// namespace under the state folder.
func removeCNIResults(state layout.State) error {
	files, err := filepath.Glob(filepath.Join(cniResults, "*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err == nil && bytes.Contains(content, []byte(state.Path()+"/")) {
			errs = append(errs, remove(file))
		}
	}
	return errors.Join(errs...)
}

// shimAddress is a shim's socket, in either form in which containerd writes it.
var shimAddress = regexp.MustCompile(regexp.QuoteMeta("unix://"+shimSockets+"/") + `[0-9a-f]+`)

// removeShimSockets removes the sockets of shims that were killed. Their names
// are hashes, and only the bundles in our containerd's state tell which are ours.
func removeShimSockets(node layout.NodeDir) error {
	var errs []error
	// The first is containerd 1's, the second containerd 2's.
	for _, name := range []string{"address", "bootstrap.json"} {
		files, err := filepath.Glob(node.Path("containerd", "state", "io.containerd.runtime.v2.task", "*", "*", name))
		if err != nil {
			return err
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			for _, address := range shimAddress.FindAllString(string(content), -1) {
				errs = append(errs, remove(strings.TrimPrefix(address, "unix://")))
			}
		}
	}
	return errors.Join(errs...)
}

// removePodLogs removes the logs of our Pods, whose UIDs the kubelet's folder has, and the links to them.
func removePodLogs(logs, links string, node layout.NodeDir) error {
	pods, err := filepath.Glob(node.Path("kubelet", "pods", "*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, pod := range pods {
		// Named after namespace, name and UID.
		folders, err := filepath.Glob(filepath.Join(logs, "*_"+filepath.Base(pod)))
		if err != nil {
			return err
		}
		for _, folder := range folders {
			errs = append(errs, removeLinksInto(filepath.Join(links, "*.log"), folder), os.RemoveAll(folder))
		}
	}
	return errors.Join(errs...)
}

// removeLinksInto removes the links into a folder of ours: the kubelet's to the
// logs of our Pods.
func removeLinksInto(pattern, folder string) error {
	links, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	var errs []error
	for _, link := range links {
		target, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(target, folder+"/") {
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
