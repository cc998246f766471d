package topology

import (
	"fmt"
	"slices"
	"strings"
)

// Family is the addresses that a cluster has in one IP family.
type Family struct {
	// Name is ipv4 or ipv6.
	Name string
	// AllPods has the addresses of all nodes' Pods, PodCIDR those of the first node's, and ServiceCIDR the ClusterIPs.
	AllPods, PodCIDR, ServiceCIDR string
	// NodeIP is the first node's. APIServiceIP and DNSServiceIP are ClusterIPs.
	NodeIP, APIServiceIP, DNSServiceIP string
	// Everywhere is the destination of a default route, and WholeAddress the length of a prefix with one address.
	Everywhere, WholeAddress string
	// IPTables is the command for its packets.
	IPTables string
}

// The families that a cluster may have.
var (
	IPv4 = Family{
		Name: "ipv4", AllPods: PodCIDR, PodCIDR: Host().PodCIDR, ServiceCIDR: ServiceCIDR,
		NodeIP: NodeIP, APIServiceIP: APIServiceIP, DNSServiceIP: DNSServiceIP, Everywhere: "0.0.0.0/0", WholeAddress: "/32", IPTables: "iptables",
	}
	IPv6 = Family{
		Name: "ipv6", AllPods: "fd00:10:244::/64", PodCIDR: "fd00:10:244::/64", ServiceCIDR: "fd00:10:96::/112",
		NodeIP: "fd00:10:244::1", APIServiceIP: "fd00:10:96::1", DNSServiceIP: "fd00:10:96::a", Everywhere: "::/0", WholeAddress: "/128", IPTables: "ip6tables",
	}
)

// AllFamilies are those that a cluster may have.
func AllFamilies() Families { return Families{IPv4, IPv6} }

// Families are those of a cluster. The first is the one that a Service gets that asks for none, and the API server's.
type Families []Family

// ParseFamilies reads names that are separated by commas.
func ParseFamilies(text string) (Families, error) {
	var families Families
	for name := range strings.SplitSeq(text, ",") {
		isNamed := func(f Family) bool { return f.Name == name }
		at := slices.IndexFunc(AllFamilies(), isNamed)
		if at < 0 || slices.ContainsFunc(families, isNamed) {
			return nil, fmt.Errorf("IP families %q: give ipv4, ipv6, or both separated by a comma, the one that Services get by default first", text)
		}
		families = append(families, AllFamilies()[at])
	}
	return families, nil
}

// String is what ParseFamilies reads.
func (f Families) String() string {
	return f.Join(func(f Family) string { return f.Name })
}

// Join is something of each family, as Kubernetes' flags take it.
func (f Families) Join(of func(Family) string) string { return strings.Join(f.Each(of), ",") }

// Each is something of each family.
func (f Families) Each(of func(Family) string) []string {
	var each []string
	for _, family := range f {
		each = append(each, of(family))
	}
	return each
}

// HaveIPv6 reports whether IPv6 is one of them.
func (f Families) HaveIPv6() bool { return slices.Contains(f, IPv6) }
