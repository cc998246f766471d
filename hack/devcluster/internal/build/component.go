// Package build compiles the cluster's components from pinned Go modules into
// bin/, once: a binary is kept under a key of everything that went into it.
package build

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// Component is one binary.
type Component struct {
	Name string
	// set is the module that the binary is built from; its binaries share a key.
	set string
	// pkg is the Go package, relative to the set's folder or an import path.
	pkg string
}

// The components in the order in which they are built: what the tests need first.
var (
	Etcd              = Component{"etcd", kubernetesSet, "go.etcd.io/etcd/server/v3"}
	APIServer         = Component{"kube-apiserver", kubernetesSet, "k8s.io/kubernetes/cmd/kube-apiserver"}
	Kubectl           = Component{"kubectl", kubernetesSet, "k8s.io/kubernetes/cmd/kubectl"}
	ControllerManager = Component{"kube-controller-manager", kubernetesSet, "k8s.io/kubernetes/cmd/kube-controller-manager"}
	Scheduler         = Component{"kube-scheduler", kubernetesSet, "k8s.io/kubernetes/cmd/kube-scheduler"}
	Kubelet           = Component{"kubelet", kubernetesSet, "k8s.io/kubernetes/cmd/kubelet"}
	KubeProxy         = Component{"kube-proxy", kubernetesSet, "k8s.io/kubernetes/cmd/kube-proxy"}
	CoreDNS           = Component{"coredns", corednsSet, "."}
	Pause             = Component{"pause", pauseSet, "."}
)

// TestAssets is what envtest needs: a control plane without a node.
func TestAssets() []Component { return []Component{Etcd, APIServer, Kubectl} }

// All is everything that the cluster runs.
func All() []Component {
	return append(TestAssets(), ControllerManager, Scheduler, Kubelet, KubeProxy, CoreDNS, Pause)
}

const (
	kubernetesSet = "kubernetes"
	corednsSet    = "coredns"
	pauseSet      = "pause"
)

// set is what all binaries of one module have in common.
type set struct {
	name    string
	dir     string
	inputs  []string
	version string
	ldflags string
	goos    string
}

func (b *Builder) loadSet(name string) (set, error) {
	s := set{name: name, dir: filepath.Join(b.repo.Module(), "components", name), ldflags: "-s -w", goos: "linux"}
	switch name {
	case kubernetesSet:
		// The control plane runs on any system, so that envtest does.
		s.goos = runtime.GOOS
		s.inputs = []string{"go.mod", "go.sum"}
		version, err := requiredVersion(filepath.Join(s.dir, "go.mod"), "k8s.io/kubernetes")
		if err != nil {
			return set{}, err
		}
		s.version = version
		s.ldflags += " " + kubernetesVersionFlags(version)
	case corednsSet:
		s.inputs = []string{"go.mod", "go.sum", "main.go"}
		version, err := requiredVersion(filepath.Join(s.dir, "go.mod"), "github.com/coredns/coredns")
		if err != nil {
			return set{}, err
		}
		s.version = version
	case pauseSet:
		s.inputs = []string{"main.go"}
		s.version = "v1"
	}
	return s, nil
}

// requiredVersion reads the pinned version of a module, so that a go.mod is the
// only place to change for an update.
func requiredVersion(file, module string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	mod, err := modfile.Parse(file, content, nil)
	if err != nil {
		return "", err
	}
	for _, r := range mod.Require {
		if r.Mod.Path == module {
			return r.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", file, module)
}

// kubernetesVersionFlags links the version in. Without it the API server calls
// itself v0.0.0, and whatever checks for a minimum version refuses it.
func kubernetesVersionFlags(version string) string {
	major, minor, _ := strings.Cut(strings.TrimPrefix(semver.MajorMinor(version), "v"), ".")
	values := []string{
		"k8s.io/component-base/version.gitVersion=" + version,
		"k8s.io/component-base/version.gitMajor=" + major,
		"k8s.io/component-base/version.gitMinor=" + minor,
		"k8s.io/component-base/version.gitTreeState=clean",
		"k8s.io/client-go/pkg/version.gitVersion=" + version,
		"k8s.io/client-go/pkg/version.gitMajor=" + major,
		"k8s.io/client-go/pkg/version.gitMinor=" + minor,
	}
	return "-X " + strings.Join(values, " -X ")
}
