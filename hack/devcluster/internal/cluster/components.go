//go:build linux

package cluster

import (
	"os"
	"os/exec"

	"github.com/critical-service/operator/hack/devcluster/internal/build"
	"github.com/critical-service/operator/hack/devcluster/internal/controlplane"
	"github.com/critical-service/operator/hack/devcluster/internal/layout"
	"github.com/critical-service/operator/hack/devcluster/internal/node"
	"github.com/critical-service/operator/hack/devcluster/internal/process"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// The background processes, in the order in which they are started.
const (
	registryName          = "registry"
	etcdName              = "etcd"
	apiServerName         = "kube-apiserver"
	containerdName        = "containerd"
	controllerManagerName = "kube-controller-manager"
	schedulerName         = "kube-scheduler"
	kubeletName           = "kubelet"
	kubeProxyName         = "kube-proxy"
)

// Components lists the names of the background processes.
func Components() []string { return append(foundation(), clients()...) }

// foundation is what everything else needs before it starts.
func foundation() []string {
	return []string{registryName, etcdName, apiServerName, containerdName}
}

// clients need an API server that answers.
func clients() []string {
	return []string{controllerManagerName, schedulerName, kubeletName, kubeProxyName}
}

// built says which component is started by which function from which binary.
var built = map[string]struct {
	component build.Component
	spec      func(layout.State, string) process.Spec
}{
	etcdName:              {build.Etcd, controlplane.Etcd},
	apiServerName:         {build.APIServer, controlplane.APIServer},
	controllerManagerName: {build.ControllerManager, controlplane.ControllerManager},
	schedulerName:         {build.Scheduler, controlplane.Scheduler},
	kubeletName:           {build.Kubelet, node.Kubelet},
	kubeProxyName:         {build.KubeProxy, node.KubeProxy},
}

func (c *Cluster) spec(name string) (process.Spec, error) {
	switch name {
	case registryName:
		self, err := os.Executable()
		return process.Spec{
			Name: registryName, Path: self, NoProxy: true,
			Args: []string{
				"registry", "--address", topology.RegistryAddress(), "--tls-address", topology.RegistryTLSAddress(),
				"--dir", c.state.Path("registry"), "--pki", c.state.Path("pki"),
			},
		}, err
	case containerdName:
		binary, err := exec.LookPath("containerd")
		return node.Containerd(c.state, binary), err
	}
	b := built[name]
	binary, err := c.builder.Binary(b.component)
	return b.spec(c.state, binary), err
}

// ensureStarted starts those of the components that do not run, and notes them.
func (c *Cluster) ensureStarted(names []string) error {
	c.expected = append(c.expected, names...)
	for _, name := range names {
		if c.supervisor.Alive(name) {
			continue
		}
		spec, err := c.spec(name)
		if err != nil {
			return err
		}
		if _, err := c.supervisor.Start(spec); err != nil {
			return err
		}
		c.started = append(c.started, name)
	}
	return nil
}
