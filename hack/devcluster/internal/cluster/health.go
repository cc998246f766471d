//go:build linux

package cluster

import (
	"context"
	"fmt"
	"net"

	"github.com/critical-service/operator/hack/devcluster/internal/kubeapi"
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
			return client.Healthy(ctx, healthURL("http", n.HealthIP(), topology.KubeRouterHealth))
		}
	}
	url, ok := healthURLs[name]
	if !ok {
		return nil
	}
	return client.Healthy(ctx, url)
}

func listens(ctx context.Context, socket string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err == nil {
		_ = conn.Close()
	}
	return err
}
