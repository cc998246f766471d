//go:build linux

package controlplane

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// hostComponents and nodeComponents have a kubeconfig of their own.
var (
	hostComponents = []string{"kube-controller-manager", "kube-scheduler"}
	nodeComponents = []string{"kubelet", "kube-proxy", "kube-router"}
)

// WriteKubeconfigs writes the administrator's and the components' kubeconfigs.
func WriteKubeconfigs(state layout.State, nodes []topology.Node) error {
	for _, name := range hostComponents {
		if err := writeKubeconfig(state, name, topology.APIServerURL(), state.ComponentKubeconfig(name)); err != nil {
			return err
		}
	}
	for _, node := range nodes {
		for _, component := range nodeComponents {
			name := node.Component(component)
			if err := writeKubeconfig(state, name, node.APIServerURL(), state.ComponentKubeconfig(name)); err != nil {
				return err
			}
		}
	}
	return writeKubeconfig(state, "admin", topology.APIServerURL(), state.Kubeconfig())
}

// writeKubeconfig embeds the certificates, so that the file can be copied alone.
func writeKubeconfig(state layout.State, user, server, path string) error {
	var embedded [3]string
	for i, file := range []string{"ca.crt", user + ".crt", user + ".key"} {
		content, err := os.ReadFile(state.Path("pki", file))
		if err != nil {
			return err
		}
		embedded[i] = base64.StdEncoding.EncodeToString(content)
	}
	content := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: %[1]s
  cluster:
    server: %[2]s
    certificate-authority-data: %[3]s
users:
- name: %[4]s
  user:
    client-certificate-data: %[5]s
    client-key-data: %[6]s
contexts:
- name: %[1]s
  context:
    cluster: %[1]s
    user: %[4]s
current-context: %[1]s
`, topology.Name, server, embedded[0], user, embedded[1], embedded[2])
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o600)
}
