//go:build linux

// Package network is the host's side of the Pod network: the device that carries
// the node's address, the way out for Pods, and the further nodes' namespaces. Pods are
// routed (CNI plugin ptp), not bridged: then traffic from Pod to Service passes the
// host's firewall rules in both directions without the br_netfilter module.
package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// CheckFree refuses addresses that something else on the machine uses.
func CheckFree(families topology.Families) error {
	for _, name := range devices() {
		if link, err := netlink.LinkByName(name); err == nil {
			return fmt.Errorf("the network device %s (%s) exists already and is not of a running devcluster: "+
				"if it is a leftover, remove it with `devcluster down`", name, link.Type())
		}
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("read the routing table: %w", err)
	}
	wanted := []string{topology.PodCIDR, topology.ServiceCIDR}
	if families.HaveIPv6() {
		wanted = append(wanted, topology.IPv6.PodCIDR, topology.IPv6.ServiceCIDR)
	}
	for _, cidr := range wanted {
		if dst := overlapping(cidr, routes); dst != nil {
			return fmt.Errorf("the machine routes %s already, which the cluster needs (%s): "+
				"stop whatever uses it, such as another Kubernetes or a VPN", dst, cidr)
		}
	}
	return nil
}

func overlapping(cidr string, routes []netlink.Route) *net.IPNet {
	_, wanted, err := net.ParseCIDR(cidr)
	if err != nil {
		return nil
	}
	for _, route := range routes {
		if route.Dst == nil {
			continue
		}
		// The default route contains everything and is no conflict.
		if ones, _ := route.Dst.Mask.Size(); ones == 0 {
			continue
		}
		if wanted.Contains(route.Dst.IP) || route.Dst.Contains(wanted.IP) {
			return route.Dst
		}
	}
	return nil
}

// devices are the names of all that the cluster may have on the machine, but for those of Pods.
func devices() []string {
	names := []string{topology.NetworkDevice}
	for _, node := range topology.AllNodes() {
		if !node.IsHost() {
			names = append(names, node.NetworkDevice())
		}
	}
	return names
}

// Up makes the device, the routes and the firewall rules, and connects the further nodes. It may
// be repeated.
func Up(ctx context.Context, state layout.State, nodes []topology.Node, families topology.Families) error {
	link, err := ensureDevice()
	if err != nil {
		return fmt.Errorf("network device %s: %w", topology.NetworkDevice, err)
	}
	// The machine has its IPv4 address in any case: the registry listens on it.
	if err := attach(ctx, link, "ip", topology.NodeIP, topology.PodCIDR, topology.ServiceCIDR); err != nil {
		return err
	}
	if v6 := topology.IPv6; families.HaveIPv6() {
		if err := attach(ctx, link, "ip6", v6.NodeIP, v6.PodCIDR, v6.ServiceCIDR); err != nil {
			return err
		}
	}
	for _, node := range nodes {
		if node.IsHost() {
			continue
		}
		if err := connect(state, node); err != nil {
			return err
		}
	}
	return allowForwarding(ctx, families)
}

// attach gives the device the machine's address in one IP family, leads to the ClusterIPs, and lets Pods out.
func attach(ctx context.Context, link netlink.Link, family, ip, podCIDR, serviceCIDR string) error {
	_, pods, err := net.ParseCIDR(podCIDR)
	if err != nil {
		return err
	}
	// No one else is on the device who could have the address, so that there is nothing to wait for.
	address := &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(ip), Mask: pods.Mask}, Flags: unix.IFA_F_NODAD}
	if err := netlink.AddrReplace(link, address); err != nil {
		return fmt.Errorf("network device %s: %s: %w", topology.NetworkDevice, address, err)
	}
	_, services, err := net.ParseCIDR(serviceCIDR)
	if err != nil {
		return err
	}
	// Without this route a machine without default route could not reach ClusterIPs,
	// and others would send those of no Service to their gateway.
	route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: services, Src: net.ParseIP(ip), Scope: netlink.SCOPE_LINK}
	if err := netlink.RouteReplace(route); err != nil {
		return fmt.Errorf("route to %s: %w", services, err)
	}
	return nft(ctx, masqueradeRules(family, podCIDR))
}

// ensureDevice makes a bridge without ports, because not every kernel has dummy devices.
func ensureDevice() (netlink.Link, error) {
	link, err := netlink.LinkByName(topology.NetworkDevice)
	if _, missing := errors.AsType[netlink.LinkNotFoundError](err); missing {
		link = &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: topology.NetworkDevice}}
		err = netlink.LinkAdd(link)
	}
	if err != nil {
		return nil, err
	}
	return link, netlink.LinkSetUp(link)
}

// Down removes what Up made.
func Down(ctx context.Context) error {
	isOurs := func(link netlink.Link) bool { return slices.Contains(devices(), link.Attrs().Name) }
	errs := []error{removeLinks(isOurs), forbidForwarding(ctx)}
	for _, family := range tableFamilies {
		errs = append(errs, deleteTable(ctx, family, topology.Name))
	}
	return errors.Join(errs...)
}

// RemovePodLinks removes the host's ends of Pod networks that are left. Another
// cluster's look the same, so this is only for a machine on which ours ran.
func RemovePodLinks() error { return removeLinks(isPodLink) }

func removeLinks(matches func(netlink.Link) bool) error {
	links, err := netlink.LinkList()
	if err != nil {
		return fmt.Errorf("list network devices: %w", err)
	}
	var errs []error
	for _, link := range links {
		if !matches(link) {
			continue
		}
		// One end of a pair goes with the other, so that a device may have gone by now.
		if err := netlink.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
			errs = append(errs, fmt.Errorf("remove network device %s: %w", link.Attrs().Name, err))
		}
	}
	return errors.Join(errs...)
}

// isPodLink recognises the host's end of a Pod's network: a veth with the node's address.
func isPodLink(link netlink.Link) bool {
	if link.Type() != "veth" {
		return false
	}
	addresses, err := netlink.AddrList(link, netlink.FAMILY_ALL)
	if err != nil {
		return false
	}
	for _, address := range addresses {
		if ip := address.IP.String(); ip == topology.NodeIP || ip == topology.IPv6.NodeIP {
			return true
		}
	}
	return false
}

// masqueradeRules let Pods reach the outside under the machine's address. The
// table is ours alone, so that it can be replaced and removed as a whole.
func masqueradeRules(family, podCIDR string) string {
	return fmt.Sprintf(`table %[1]s %[2]s
delete table %[1]s %[2]s
table %[1]s %[2]s {
	chain postrouting {
		type nat hook postrouting priority srcnat; policy accept;
		%[1]s saddr %[3]s %[1]s daddr != %[3]s masquerade
	}
}
`, family, topology.Name, podCIDR)
}

func nft(ctx context.Context, rules string) error {
	cmd := exec.CommandContext(ctx, "nft", "-f", "-")
	cmd.Stdin = strings.NewReader(rules)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w\n%s", err, output)
	}
	return nil
}
