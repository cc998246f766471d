//go:build linux

// Package node says how containerd, the kubelet and kube-proxy are started, and
// cleans up what they leave on the machine.
package node

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"golang.org/x/mod/semver"
	"golang.org/x/sys/unix"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
	"github.com/critical-service/operator/hack/devcluster/internal/process"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

//go:embed templates
var templates embed.FS

// ProxyMode is how kube-proxy programs the kernel.
type ProxyMode string

// The modes that are offered.
const (
	NFTables ProxyMode = "nftables"
	IPTables ProxyMode = "iptables"
)

// ProxyModes are those that the kube-proxy of a version of Kubernetes has without a feature gate, the default first.
func ProxyModes(kubernetes string) []ProxyMode {
	if beforeNFTables(kubernetes) {
		return []ProxyMode{IPTables}
	}
	return []ProxyMode{NFTables, IPTables}
}

func beforeNFTables(kubernetes string) bool { return semver.Compare(kubernetes, "v1.31") < 0 }

// ParseProxyMode checks a mode given by the user.
func ParseProxyMode(text string) (ProxyMode, error) {
	switch mode := ProxyMode(text); mode {
	case NFTables, IPTables:
		return mode, nil
	}
	return "", fmt.Errorf("--proxy-mode %q: allowed are %s and %s", text, NFTables, IPTables)
}

// settings fill the templates.
type settings struct {
	Root, State, Socket, PKI                         string
	PauseImage, Registry, RegistryHosts, Snapshotter string
	CNIPlugins, CNIConfig, CNIData, Network          string
	RestrictOOMScore                                 bool
	NodeName, NodeIP, PodCIDR                        string
	DNSServiceIP, ClusterDomain, ResolvConf          string
	Cgroup, PodLogs, VolumePlugins                   string
	KubeletPort, KubeletHealthPort                   int
	ProxyKubeconfig                                  string
	ProxyMode                                        ProxyMode
	NodePortAddresses                                string
	ProxyHealthPort, ProxyMetricsPort                int
}

func newSettings(state layout.State, cniPlugins string, mode ProxyMode, kubernetes string) settings {
	nodePortAddresses := "primary"
	if beforeNFTables(kubernetes) {
		// That word came with nftables.
		nodePortAddresses = topology.NodeIP + "/32"
	}
	return settings{
		Root: state.Path("containerd", "root"), State: state.Path("containerd", "state"),
		Socket: state.ContainerdSocket(), PKI: state.Path("pki"),
		PauseImage: topology.PauseImage, Registry: topology.RegistryAddress(),
		RegistryHosts: registryHosts(state), Snapshotter: snapshotter(string(state)),
		CNIPlugins: cniPlugins, CNIConfig: state.Path("config", "cni"), CNIData: state.Path("cni"),
		Network: topology.Name, RestrictOOMScore: !canRaisePriority(),
		NodeName: topology.NodeName, NodeIP: topology.NodeIP, PodCIDR: topology.PodCIDR,
		DNSServiceIP: topology.DNSServiceIP, ClusterDomain: topology.ClusterDomain,
		ResolvConf: state.Path("config", "resolv.conf"),
		Cgroup:     topology.Name, PodLogs: state.Path("pods"), VolumePlugins: state.Path("kubelet", "volume-plugins"),
		KubeletPort: topology.Kubelet.Number, KubeletHealthPort: topology.KubeletHealth.Number,
		ProxyKubeconfig: state.ComponentKubeconfig("kube-proxy"), ProxyMode: mode,
		NodePortAddresses: nodePortAddresses,
		ProxyHealthPort:   topology.KubeProxyHealth.Number, ProxyMetricsPort: topology.KubeProxyMetrics.Number,
	}
}

// registryHosts is the folder in which containerd looks up where an image comes from.
func registryHosts(state layout.State) string { return state.Path("config", "certs.d") }

// WriteConfig writes the configuration files of containerd, and of kubelet and kube-proxy of a version of Kubernetes.
// An older kubelet ignores the settings that it does not know.
func WriteConfig(state layout.State, cniPlugins string, mode ProxyMode, kubernetes string) error {
	values := newSettings(state, cniPlugins, mode, kubernetes)
	for name, path := range map[string]string{
		"containerd.toml": state.Path("config", "containerd.toml"),
		"hosts.toml":      filepath.Join(registryHosts(state), "_default", "hosts.toml"),
		"cni.conflist":    state.Path("config", "cni", "10-"+topology.Name+".conflist"),
		"kubelet.yaml":    state.Path("config", "kubelet.yaml"),
		"kube-proxy.yaml": state.Path("config", "kube-proxy.yaml"),
	} {
		content, err := render(name, values)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return os.MkdirAll(values.VolumePlugins, 0o755)
}

func render(name string, values settings) ([]byte, error) {
	t, err := template.New(name).Option("missingkey=error").ParseFS(templates, "templates/"+name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, values)
	return b.Bytes(), err
}

// snapshotter is overlayfs, except where the state is itself on an overlay, as in
// a container: the kernel does not stack those.
func snapshotter(dir string) string {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) == nil && fs.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return "native"
	}
	return "overlayfs"
}

// canRaisePriority reports whether containers may be shielded from the OOM killer
// as Kubernetes wants; without CAP_SYS_RESOURCE every Pod would fail on that.
func canRaisePriority() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	return data[0].Effective&(1<<unix.CAP_SYS_RESOURCE) != 0
}

// Containerd is the one component that keeps the proxy variables: it pulls from
// the real registries what the local one does not have.
func Containerd(state layout.State, binary string) process.Spec {
	return process.Spec{Name: "containerd", Path: binary, Args: []string{"--config", state.Path("config", "containerd.toml")}}
}

// Kubelet runs under the node's name whatever the machine is called.
func Kubelet(state layout.State, binary string) process.Spec {
	return process.Spec{
		Name: "kubelet", Path: binary, NoProxy: true,
		Args: []string{
			"--config=" + state.Path("config", "kubelet.yaml"),
			"--kubeconfig=" + state.ComponentKubeconfig("kubelet"),
			"--hostname-override=" + topology.NodeName,
			"--node-ip=" + topology.NodeIP,
			"--root-dir=" + state.Path("kubelet"),
			"--cert-dir=" + state.Path("kubelet", "pki"),
		},
	}
}

// KubeProxy runs in the mode that its configuration file says.
func KubeProxy(state layout.State, binary string) process.Spec {
	return process.Spec{
		Name: "kube-proxy", Path: binary, NoProxy: true,
		Args: []string{"--config=" + state.Path("config", "kube-proxy.yaml")},
	}
}
