//go:build linux

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/critical-service/operator/hack/devcluster/internal/build"
	"github.com/critical-service/operator/hack/devcluster/internal/controlplane"
	"github.com/critical-service/operator/hack/devcluster/internal/kubeapi"
	"github.com/critical-service/operator/hack/devcluster/internal/layout"
	"github.com/critical-service/operator/hack/devcluster/internal/node"
	"github.com/critical-service/operator/hack/devcluster/internal/process"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// The background processes, in the order in which they are started. containerd, kubelet,
// kube-proxy and kube-router are those of the first node; each further node has its own.
const (
	registryName          = "registry"
	etcdName              = "etcd"
	apiServerName         = "kube-apiserver"
	containerdName        = "containerd"
	controllerManagerName = "kube-controller-manager"
	schedulerName         = "kube-scheduler"
	kubeletName           = "kubelet"
	kubeProxyName         = "kube-proxy"
	kubeRouterName        = "kube-router"
)

// Components lists the names of the background processes of a cluster with some nodes, which may enforce NetworkPolicies.
func Components(nodes []topology.Node, networkPolicies bool) []string {
	names := append(foundation(nodes), clients(nodes)...)
	if networkPolicies {
		names = append(names, enforcers(nodes)...)
	}
	return names
}

// foundation is what everything else needs before it starts.
func foundation(nodes []topology.Node) []string {
	return append([]string{registryName, etcdName, apiServerName}, onEach(nodes, containerdName)...)
}

// clients need an API server that answers.
func clients(nodes []topology.Node) []string {
	return append([]string{controllerManagerName, schedulerName}, onEach(nodes, kubeletName, kubeProxyName)...)
}

// enforcers enforce NetworkPolicies. They end if they do not find their Node.
func enforcers(nodes []topology.Node) []string { return onEach(nodes, kubeRouterName) }

func onEach(nodes []topology.Node, components ...string) []string {
	var names []string
	for _, n := range nodes {
		for _, component := range components {
			names = append(names, n.Component(component))
		}
	}
	return names
}

func (c *Cluster) foundation() []string { return foundation(c.nodes) }

func (c *Cluster) clients() []string { return clients(c.nodes) }

func (c *Cluster) components() []string { return Components(c.nodes, c.networkPolicies) }

// built says which component of the control plane is started by which function from which binary.
var built = map[string]struct {
	component build.Component
	spec      func(layout.State, string, topology.Families) process.Spec
}{
	etcdName:              {build.Etcd, inAnyFamily(controlplane.Etcd)},
	apiServerName:         {build.APIServer, controlplane.APIServer},
	controllerManagerName: {build.ControllerManager, inAnyFamily(controlplane.ControllerManager)},
	schedulerName:         {build.Scheduler, inAnyFamily(controlplane.Scheduler)},
}

// inAnyFamily is the function of a component that is started in the same way whatever addresses the cluster has.
func inAnyFamily(spec func(layout.State, string) process.Spec) func(layout.State, string, topology.Families) process.Spec {
	return func(state layout.State, binary string, _ topology.Families) process.Spec { return spec(state, binary) }
}

func (c *Cluster) spec(name string) (process.Spec, error) {
	if name == registryName {
		self, err := os.Executable()
		return process.Spec{
			Name: registryName, Path: self, NoProxy: true,
			Args: []string{
				"registry", "--address", strings.Join(topology.RegistryAddresses(), ","), "--tls-address", topology.RegistryTLSAddress(),
				"--dir", c.state.Path("registry"), "--pki", c.state.Path("pki"),
			},
		}, err
	}
	if b, ok := built[name]; ok {
		binary, err := c.builder.Binary(b.component)
		return b.spec(c.state, binary, c.families), err
	}
	return c.nodeSpec(name)
}

// nodeSpec is that of a component that each node has.
func (c *Cluster) nodeSpec(name string) (process.Spec, error) {
	for _, n := range c.nodes {
		started := node.New(c.state, n, c.families)
		switch name {
		case n.Component(containerdName):
			binary, err := exec.LookPath("containerd")
			return started.Containerd(binary), err
		case n.Component(kubeletName):
			binary, err := c.builder.Binary(build.Kubelet)
			return started.Kubelet(binary), err
		case n.Component(kubeProxyName):
			binary, err := c.builder.Binary(build.KubeProxy)
			return started.KubeProxy(binary), err
		case n.Component(kubeRouterName):
			binary, err := c.builder.Binary(build.KubeRouter)
			return started.KubeRouter(binary), err
		}
	}
	return process.Spec{}, fmt.Errorf("there is no component %s", name)
}

// ensureEnforced starts what enforces NetworkPolicies, if the cluster does, once there are Nodes.
func (c *Cluster) ensureEnforced(ctx context.Context, client *kubeapi.Client, limit time.Duration) error {
	if !c.networkPolicies {
		return nil
	}
	for _, n := range c.nodes {
		if err := c.awaitNode(ctx, client, n, limit); err != nil {
			return err
		}
	}
	return c.ensureStarted(enforcers(c.nodes))
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
