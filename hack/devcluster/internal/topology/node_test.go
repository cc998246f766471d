package topology

import (
	"net/netip"
	"testing"
)

func TestNodesShareThePodNetwork(t *testing.T) {
	all := netip.MustParsePrefix(PodCIDR)
	seen := map[string]bool{}
	for i, node := range AllNodes() {
		prefix := netip.MustParsePrefix(node.PodCIDR)
		if !all.Contains(prefix.Addr()) || prefix.Bits() <= all.Bits() {
			t.Errorf("%s: %s is no part of %s", node.Name, prefix, all)
		}
		if ip := netip.MustParseAddr(node.IP); prefix.Addr().Next() != ip {
			t.Errorf("%s: %s is not the first address of %s", node.Name, ip, prefix)
		}
		for _, other := range AllNodes()[:i] {
			if prefix.Overlaps(netip.MustParsePrefix(other.PodCIDR)) {
				t.Errorf("%s and %s have the same addresses", node.Name, other.Name)
			}
		}
		// The longest name of a device has 15 characters.
		for _, name := range []string{node.Name, node.Component("kubelet"), node.Cgroup(), node.NetworkDevice()} {
			if seen[name] || len(node.NetworkDevice()) > 15 {
				t.Errorf("%s: %q is not usable", node.Name, name)
			}
			seen[name] = true
		}
	}
}

func TestTheFirstNodeIsTheMachine(t *testing.T) {
	host, second := Host(), Nodes(2)[1]
	for name, tc := range map[string]struct{ got, want string }{
		"its name":                                      {host.Name, NodeName},
		"its address":                                   {host.IP, NodeIP},
		"its components have the usual names":           {host.Component("kubelet"), "kubelet"},
		"its cgroup":                                    {host.Cgroup(), "devcluster"},
		"it reaches the API server on loopback":         {host.APIServerURL(), "https://127.0.0.1:6443"},
		"it reaches the registry on loopback":           {host.RegistryAddress(), "127.0.0.1:5000"},
		"another's components have its name":            {second.Component("kubelet"), "kubelet-node2"},
		"another's cgroup":                              {second.Cgroup(), "devcluster-node2"},
		"another reaches the API server on the machine": {second.APIServerURL(), "https://10.244.0.1:6443"},
		"another reaches the registry on the machine":   {second.RegistryAddress(), "10.244.0.1:5000"},
		"another's health is asked at its address":      {second.HealthIP(), "10.244.64.1"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %s, want %s", name, tc.got, tc.want)
		}
	}
}
