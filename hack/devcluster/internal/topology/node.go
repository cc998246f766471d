package topology

import (
	"fmt"
	"net"
	"strconv"
)

// MaxNodes is how many nodes a cluster may have.
const MaxNodes = 3

// Node is one node. The first is the machine itself; each further one is a network
// namespace of it.
type Node struct {
	Name string
	// IP is the first address of PodCIDR, which has the addresses of the node's Pods.
	IP, PodCIDR string

	number int
}

// Nodes are the first nodes of the cluster.
func Nodes(count int) []Node {
	nodes := make([]Node, count)
	for i := range nodes {
		// A quarter of PodCIDR each.
		third := i * 64
		nodes[i] = Node{
			Name: "node" + strconv.Itoa(i+1), number: i + 1,
			IP: fmt.Sprintf("10.244.%d.1", third), PodCIDR: fmt.Sprintf("10.244.%d.0/18", third),
		}
	}
	return nodes
}

// AllNodes are all that a cluster may have, for what removes them.
func AllNodes() []Node { return Nodes(MaxNodes) }

// Host is the first node.
func Host() Node { return Nodes(1)[0] }

// IsHost reports whether the node is the machine itself.
func (n Node) IsHost() bool { return n.number == 1 }

// Component is the name of a component that each node has.
func (n Node) Component(name string) string {
	if n.IsHost() {
		return name
	}
	return name + "-" + n.Name
}

// Cgroup is the parent of the node's Pods. They are siblings, so that no kubelet finds
// the Pods of another below its own.
func (n Node) Cgroup() string { return n.Component(Name) }

// NetworkDevice is the host's end of the way to a node.
func (n Node) NetworkDevice() string { return Name + strconv.Itoa(n.number) }

// ControlPlaneIP is where the node reaches what runs on the machine.
func (n Node) ControlPlaneIP() string {
	if n.IsHost() {
		return "127.0.0.1"
	}
	return NodeIP
}

// HealthIP is where the node's components say how they are, as the machine reaches it.
func (n Node) HealthIP() string {
	if n.IsHost() {
		return "127.0.0.1"
	}
	return n.IP
}

// APIServerURL is where the node reaches the API server.
func (n Node) APIServerURL() string { return "https://" + address(n.ControlPlaneIP(), APIServer) }

// RegistryAddress is where the node reaches the image registry.
func (n Node) RegistryAddress() string { return address(n.ControlPlaneIP(), Registry) }

func address(ip string, port Port) string { return net.JoinHostPort(ip, strconv.Itoa(port.Number)) }
