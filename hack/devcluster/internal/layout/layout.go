// Package layout knows where everything lives: the repository that the program
// was built from, the binaries it caches there, and the state of the running cluster.
package layout

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// DefaultStateDir holds everything of the running cluster. It is one folder per
// machine, not per clone, because a machine can run one cluster only.
const DefaultStateDir = "/var/lib/critical-service-devcluster"

// StateDirVariable overrides DefaultStateDir.
const StateDirVariable = "DEVCLUSTER_STATE_DIR"

// Repository is a clone of the operator's repository.
type Repository string

// FindRepository returns the first clone that one of the folders is in. The
// folders are in order of preference: where the user is, and where the program is.
func FindRepository(dirs ...string) (Repository, error) {
	for _, dir := range dirs {
		if repo, ok := cloneAbove(dir); ok {
			return repo, nil
		}
	}
	return "", fmt.Errorf("not inside a clone of the repository (no folder above %s has hack/devcluster): change into the clone first",
		strings.Join(dirs, " or "))
}

func cloneAbove(dir string) (Repository, bool) {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "hack", "devcluster", "go.mod")); err == nil {
			return Repository(d), true
		}
		if d == filepath.Dir(d) {
			return "", false
		}
	}
}

// Bin is the git-ignored folder of everything that is built.
func (r Repository) Bin() string { return filepath.Join(string(r), "bin") }

// Module is the folder of devcluster's own Go module.
func (r Repository) Module() string { return filepath.Join(string(r), "hack", "devcluster") }

// State is the folder of the running cluster.
type State string

// StateDir returns the folder chosen by flag, by environment, or by default.
func StateDir(flag string) (State, error) {
	dir := flag
	if dir == "" {
		dir = os.Getenv(StateDirVariable)
	}
	if dir == "" {
		dir = DefaultStateDir
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if abs == "/" {
		return "", fmt.Errorf("the state folder may not be %s", abs)
	}
	return State(abs), nil
}

// Path joins elements to the state folder.
func (s State) Path(elem ...string) string {
	return filepath.Join(append([]string{string(s)}, elem...)...)
}

// Kubeconfig is the administrator's kubeconfig.
func (s State) Kubeconfig() string { return s.Path("kubeconfig") }

// ComponentKubeconfig is the kubeconfig of one component.
func (s State) ComponentKubeconfig(name string) string {
	return s.Path("kubeconfigs", name+".kubeconfig")
}

// Log is the log file of one component.
func (s State) Log(component string) string { return s.Path("logs", component+".log") }

// Node is where a node keeps what is its own. The first node's is the state folder itself.
func (s State) Node(node topology.Node) NodeDir {
	if node.IsHost() {
		return NodeDir(s)
	}
	return NodeDir(s.Path("nodes", node.Name))
}

// Namespace is the file that keeps a node's network namespace; empty for the machine's own.
func (s State) Namespace(node topology.Node) string {
	if node.IsHost() {
		return ""
	}
	return s.Path("namespaces", node.Name)
}

// NodeDir is the folder of one node.
type NodeDir string

// Path joins elements to the node's folder.
func (d NodeDir) Path(elem ...string) string { return State(d).Path(elem...) }

// ContainerdSocket is where the node's containerd listens.
func (d NodeDir) ContainerdSocket() string { return d.Path("containerd", "containerd.sock") }
