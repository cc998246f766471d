// Package topology holds the fixed names, addresses and ports of the cluster,
// so that no two packages can disagree about them.
package topology

import (
	"fmt"
	"net"
)

const (
	// Name is the name of everything on the host that could be confused with
	// something of another program: network device, nftables table, CNI network, cgroup.
	Name = "devcluster"

	// SystemCgroup is that of all components together, beside those of the nodes' Pods: as system.slice and kubepods.slice are
	// where systemd is. Each component would else have as much of the processor as all Pods.
	SystemCgroup = Name + "-system"

	// NodeName is the first node's, whatever the machine is called.
	NodeName = "node1"
	// ClusterDomain is what the names of all Services end in.
	ClusterDomain = "cluster.local"

	// PodCIDR has the addresses of the Pods of all nodes, and those of the nodes.
	PodCIDR = "10.244.0.0/16"
	// ServiceCIDR has the ClusterIPs.
	ServiceCIDR = "10.96.0.0/16"
	// NodeIP is the first node's, and the first address of PodCIDR. It sits on a device
	// of our own, so that the cluster survives a change of the machine's network.
	NodeIP = "10.244.0.1"
	// APIServiceIP is the ClusterIP of the API server.
	APIServiceIP = "10.96.0.1"
	// DNSServiceIP is the ClusterIP of CoreDNS.
	DNSServiceIP = "10.96.0.10"

	// RegistryTLSIP is the loopback address that stands for the real registries.
	RegistryTLSIP = "127.88.0.1"

	// NetworkDevice carries NodeIP; Pods are routed to it, not bridged.
	NetworkDevice = Name + "0"

	// PauseImage is of the sandbox of each Pod.
	PauseImage = "devcluster.local/pause:1"
	// CoreDNSImage is of the cluster's DNS.
	CoreDNSImage = "devcluster.local/coredns:1"
)

// Port is a TCP port that a component of the cluster listens on.
type Port struct {
	Number int
	User   string
}

// The ports of the cluster. They are Kubernetes' usual ones, so that tools that
// know them keep working.
var (
	EtcdClient        = Port{2379, "etcd"}
	EtcdPeer          = Port{2380, "etcd"}
	APIServer         = Port{6443, "kube-apiserver"}
	Registry          = Port{5000, "registry"}
	KubeletHealth     = Port{10248, "kubelet"}
	KubeProxyMetrics  = Port{10249, "kube-proxy"}
	Kubelet           = Port{10250, "kubelet"}
	KubeProxyHealth   = Port{10256, "kube-proxy"}
	ControllerManager = Port{10257, "kube-controller-manager"}
	Scheduler         = Port{10259, "kube-scheduler"}
)

// Ports lists every port that must be free before the cluster can start.
func Ports() []Port {
	return []Port{
		EtcdClient, EtcdPeer, APIServer, Registry, KubeletHealth,
		KubeProxyMetrics, Kubelet, KubeProxyHealth, ControllerManager, Scheduler,
	}
}

// RegistryAddress is where the image registry is reached on the host.
func RegistryAddress() string { return Host().RegistryAddress() }

// RegistryAddresses are where it is reached on the host, and by programs in Pods that pull images themselves.
func RegistryAddresses() []string {
	return []string{RegistryAddress(), fmt.Sprintf("%s:%d", NodeIP, Registry.Number)}
}

// RegistryTLSAddress is where it is reached by clients that insist on TLS and on
// the names of the real registries. It is a loopback address of its own, so that
// a web server on 127.0.0.1 does not matter. A cluster without it is one all the
// same, so the port is not among Ports.
func RegistryTLSAddress() string { return net.JoinHostPort(RegistryTLSIP, "443") }

// APIServerURL is where clients on the host reach the API server.
func APIServerURL() string { return Host().APIServerURL() }
