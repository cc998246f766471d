//go:build linux

package cluster

import (
	"context"
	"fmt"
	"net"
	"os/exec"

	"github.com/critical-service/operator/hack/devcluster/internal/kubeapi"
	"github.com/critical-service/operator/hack/devcluster/internal/process"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// healthURLs are where the components say how they are. etcd is not among them:
// the API server's answer includes it.
var healthURLs = map[string]string{
	registryName:          "http://" + topology.RegistryAddress() + "/v2/",
	apiServerName:         topology.APIServerURL() + "/readyz",
	controllerManagerName: healthURL("https", "127.0.0.1", topology.ControllerManager),
	schedulerName:         healthURL("https", "127.0.0.1", topology.Scheduler),
}

func healthURL(scheme, ip string, port topology.Port) string {
	return fmt.Sprintf("%s://%s:%d/healthz", scheme, ip, port.Number)
}

// healthy asks a component about itself.
func (c *Cluster) healthy(ctx context.Context, client *kubeapi.Client, name string) error {
	for _, n := range c.nodes {
		switch name {
		case n.Component(containerdName):
			return listens(ctx, c.state.Node(n).ContainerdSocket())
		case n.Component(kubeletName):
			return client.Healthy(ctx, healthURL("http", n.HealthIP(), topology.KubeletHealth))
		case n.Component(kubeProxyName):
			return client.Healthy(ctx, healthURL("http", n.HealthIP(), topology.KubeProxyHealth))
		case n.Component(kubeRouterName):
			return c.enforces(ctx, n)
		}
	}
	url, ok := healthURLs[name]
	if !ok {
		return nil
	}
	return client.Healthy(ctx, url)
}

// enforces finds the chain through which all forwarded packets of a node go once NetworkPolicies are enforced there.
func (c *Cluster) enforces(ctx context.Context, n topology.Node) error {
	command := process.InNamespace(c.state.Namespace(n), []string{c.families[0].IPTables, "-w", "-n", "-L", "KUBE-ROUTER-FORWARD"})
	if output, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("NetworkPolicies are not enforced on %s yet: %w\n%s", n.Name, err, output)
	}
	return nil
}

func listens(ctx context.Context, socket string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err == nil {
		_ = conn.Close()
	}
	return err
}
