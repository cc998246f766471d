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
	controllerManagerName: healthURL("https", topology.ControllerManager),
	schedulerName:         healthURL("https", topology.Scheduler),
	kubeletName:           healthURL("http", topology.KubeletHealth),
	kubeProxyName:         healthURL("http", topology.KubeProxyHealth),
}

func healthURL(scheme string, port topology.Port) string {
	return fmt.Sprintf("%s://127.0.0.1:%d/healthz", scheme, port.Number)
}

// healthy asks a component about itself.
func (c *Cluster) healthy(ctx context.Context, client *kubeapi.Client, name string) error {
	if name == containerdName {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.state.ContainerdSocket())
		if err == nil {
			_ = conn.Close()
		}
		return err
	}
	url, ok := healthURLs[name]
	if !ok {
		return nil
	}
	return client.Healthy(ctx, url)
}
