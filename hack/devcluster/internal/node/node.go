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
	"slices"
	"strings"
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

// Node is a node of the cluster, and where its files are.
type Node struct {
	topology.Node

	State layout.State
	Dir   layout.NodeDir
	// networks are the node's own addresses in each IP family.
	networks topology.Families
}

// New returns a node of the cluster in a state folder. Only the first node may have another family than IPv4.
func New(state layout.State, n topology.Node, families topology.Families) Node {
	networks := families
	if !n.IsHost() {
		own := topology.IPv4
		own.NodeIP, own.PodCIDR = n.IP, n.PodCIDR
		networks = topology.Families{own}
	}
	return Node{Node: n, State: state, Dir: state.Node(n), networks: networks}
}

// ips are the node's addresses, as flags take them.
func (n Node) ips() string {
	return n.networks.Join(func(f topology.Family) string { return f.NodeIP })
}

// settings fill the templates.
type settings struct {
	Root, State, Socket, PKI                         string
	PauseImage, Registry, RegistryHosts, Snapshotter string
	CNIPlugins, CNIConfig, CNIData, Network          string
	RestrictOOMScore                                 bool
	NodeName, PodCIDRs                               string
	Networks                                         topology.Families
	ClusterDomain, ResolvConf                        string
	Certificate, Cgroup, PodLogs, VolumePlugins      string
	KubeletPort, KubeletHealthPort                   int
	ProxyKubeconfig                                  string
	ProxyMode                                        ProxyMode
	HealthIP, NodePortAddresses                      string
	ProxyHealthPort, ProxyMetricsPort                int
}

func (n Node) settings(cniPlugins string, mode ProxyMode, kubernetes string) settings {
	nodePortAddresses := "primary"
	if beforeNFTables(kubernetes) {
		// That word came with nftables.
		nodePortAddresses = strings.Join(n.networks.Each(func(f topology.Family) string { return f.NodeIP + f.WholeAddress }), ", ")
	}
	return settings{
		Root: n.Dir.Path("containerd", "root"), State: n.Dir.Path("containerd", "state"),
		Socket: n.Dir.ContainerdSocket(), PKI: n.State.Path("pki"),
		PauseImage: topology.PauseImage, Registry: n.RegistryAddress(),
		RegistryHosts: registryHosts(n.Dir), Snapshotter: snapshotter(string(n.Dir)),
		CNIPlugins: cniPlugins, CNIConfig: n.Dir.Path("config", "cni"), CNIData: n.Dir.Path("cni"),
		Network: topology.Name, RestrictOOMScore: !canRaisePriority(),
		NodeName: n.Name, PodCIDRs: n.networks.Join(func(f topology.Family) string { return f.PodCIDR }), Networks: n.networks,
		ClusterDomain: topology.ClusterDomain,
		ResolvConf:    n.State.Path("config", "resolv.conf"),
		Certificate:   n.Component("kubelet"), Cgroup: n.Cgroup(), PodLogs: n.Dir.Path("pods"), VolumePlugins: n.Dir.Path("kubelet", "volume-plugins"),
		KubeletPort: topology.Kubelet.Number, KubeletHealthPort: topology.KubeletHealth.Number,
		ProxyKubeconfig: n.State.ComponentKubeconfig(n.Component("kube-proxy")), ProxyMode: mode,
		HealthIP: n.HealthIP(), NodePortAddresses: nodePortAddresses,
		ProxyHealthPort: topology.KubeProxyHealth.Number, ProxyMetricsPort: topology.KubeProxyMetrics.Number,
	}
}

// registryHosts is the folder in which containerd looks up where an image comes from.
func registryHosts(dir layout.NodeDir) string { return dir.Path("config", "certs.d") }

// WriteConfig writes the configuration files of containerd, and of kubelet and kube-proxy of a version of Kubernetes.
// An older kubelet ignores the settings that it does not know.
func (n Node) WriteConfig(cniPlugins string, mode ProxyMode, kubernetes string) error {
	for _, dir := range []string{n.Dir.Path("pods"), n.Dir.Path("kubelet", "volume-plugins")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	values := n.settings(cniPlugins, mode, kubernetes)
	for name, path := range map[string]string{
		"containerd.toml": n.Dir.Path("config", "containerd.toml"),
		"hosts.toml":      filepath.Join(registryHosts(n.Dir), "_default", "hosts.toml"),
		"cni.conflist":    n.Dir.Path("config", "cni", "10-"+topology.Name+".conflist"),
		"kubelet.yaml":    n.Dir.Path("config", "kubelet.yaml"),
		"kube-proxy.yaml": n.Dir.Path("config", "kube-proxy.yaml"),
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
	return nil
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
func (n Node) Containerd(binary string) process.Spec {
	return process.Spec{
		Name: n.Component("containerd"), Path: binary, Args: []string{"--config", n.Dir.Path("config", "containerd.toml")},
		Namespace: n.State.Namespace(n.Node),
	}
}

// Kubelet runs under the node's name whatever the machine is called.
func (n Node) Kubelet(binary string) process.Spec {
	name := n.Component("kubelet")
	return process.Spec{
		Name: name, Path: binary, NoProxy: true, Namespace: n.State.Namespace(n.Node),
		Args: []string{
			"--config=" + n.Dir.Path("config", "kubelet.yaml"),
			"--kubeconfig=" + n.State.ComponentKubeconfig(name),
			"--hostname-override=" + n.Name,
			"--node-ip=" + n.ips(),
			"--root-dir=" + n.Dir.Path("kubelet"),
			"--cert-dir=" + n.Dir.Path("kubelet", "pki"),
		},
	}
}

// KubeRouter does nothing but enforce NetworkPolicies, in the filter table of iptables.
func (n Node) KubeRouter(binary string) process.Spec {
	name := n.Component("kube-router")
	return process.Spec{
		Name: name, Path: binary, NoProxy: true, Namespace: n.State.Namespace(n.Node),
		// It takes the machine's name before --hostname-override.
		Env: []string{"NODE_NAME=" + n.Name},
		Args: []string{
			"--kubeconfig=" + n.State.ComponentKubeconfig(name),
			"--run-firewall", "--run-router=false", "--run-service-proxy=false", "--enable-cni=false",
			fmt.Sprintf("--enable-ipv4=%t", slices.ContainsFunc(n.networks, func(f topology.Family) bool { return f.Name == topology.IPv4.Name })),
			fmt.Sprintf("--enable-ipv6=%t", n.networks.HaveIPv6()),
			"--service-cluster-ip-range=" + n.networks.Join(func(f topology.Family) string { return f.ServiceCIDR }),
			// It would listen on all of the machine's networks.
			"--health-port=0",
		},
	}
}

// KubeProxy runs in the mode that its configuration file says.
func (n Node) KubeProxy(binary string) process.Spec {
	return process.Spec{
		Name: n.Component("kube-proxy"), Path: binary, NoProxy: true, Namespace: n.State.Namespace(n.Node),
		Args: []string{"--config=" + n.Dir.Path("config", "kube-proxy.yaml")},
	}
}
