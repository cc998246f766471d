//go:build linux

package network

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// nodeDevice is the node's end of the way to it.
const nodeDevice = "eth0"

// connect gives a node its network namespace, and a way between it and the machine: a pair of
// devices, over which the machine routes the addresses of the node and of its Pods.
func connect(state layout.State, node topology.Node) error {
	namespace := state.Namespace(node)
	if err := ensureNamespace(namespace); err != nil {
		return fmt.Errorf("network namespace of %s: %w", node.Name, err)
	}
	inside, err := netns.GetFromPath(namespace)
	if err != nil {
		return fmt.Errorf("network namespace of %s: %w", node.Name, err)
	}
	defer func() { _ = inside.Close() }()
	link, err := ensurePair(node, inside)
	if err != nil {
		return fmt.Errorf("network device %s: %w", node.NetworkDevice(), err)
	}
	if err := configureInside(node, inside); err != nil {
		return fmt.Errorf("network of %s: %w", node.Name, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return err
	}
	route, err := routeOver(link, node.PodCIDR, node.IP, topology.NodeIP)
	if err != nil {
		return err
	}
	return netlink.RouteReplace(route)
}

// Disconnect takes the way to a node down, without a word to either side. Up puts it back.
func Disconnect(node topology.Node) error {
	link, err := netlink.LinkByName(node.NetworkDevice())
	if err != nil {
		return err
	}
	return netlink.LinkSetDown(link)
}

// routeOver leads to the addresses of others by a gateway that no address of the device is next to.
func routeOver(link netlink.Link, cidr, gateway, source string) (*netlink.Route, error) {
	_, destination, err := net.ParseCIDR(cidr)
	return &netlink.Route{
		LinkIndex: link.Attrs().Index, Dst: destination, Gw: net.ParseIP(gateway), Src: net.ParseIP(source), Flags: int(netlink.FLAG_ONLINK),
	}, err
}

func ensurePair(node topology.Node, inside netns.NsHandle) (netlink.Link, error) {
	link, err := netlink.LinkByName(node.NetworkDevice())
	if _, missing := errors.AsType[netlink.LinkNotFoundError](err); !missing {
		return link, err
	}
	pair := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: node.NetworkDevice()},
		PeerName:  nodeDevice, PeerNamespace: netlink.NsFd(inside),
	}
	if err := netlink.LinkAdd(pair); err != nil {
		return nil, err
	}
	return netlink.LinkByName(node.NetworkDevice())
}

// configureInside gives the node its address, and sends everything else to the machine.
func configureInside(node topology.Node, inside netns.NsHandle) error {
	handle, err := netlink.NewHandleAt(inside)
	if err != nil {
		return err
	}
	defer handle.Close()
	loopback, err := handle.LinkByName("lo")
	if err != nil {
		return err
	}
	device, err := handle.LinkByName(nodeDevice)
	if err != nil {
		return err
	}
	address := &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(node.IP), Mask: net.CIDRMask(32, 32)}}
	route, err := routeOver(device, "0.0.0.0/0", topology.NodeIP, node.IP)
	if err != nil {
		return err
	}
	return errors.Join(
		handle.LinkSetUp(loopback), handle.AddrReplace(device, address), handle.LinkSetUp(device), handle.RouteReplace(route),
	)
}

// ensureNamespace makes a network namespace that routes, and that lasts as long as the mount of it.
func ensureNamespace(path string) error {
	var existing unix.Statfs_t
	if unix.Statfs(path, &existing) == nil && existing.Type == unix.NSFS_MAGIC {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	made := make(chan error)
	go func() {
		// This thread is never unlocked, so that it ends with this function, and no other code of the
		// program finds itself in the namespace.
		runtime.LockOSThread()
		made <- makeNamespace(path)
	}()
	return <-made
}

func makeNamespace(path string) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
		return err
	}
	return unix.Mount(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()), path, "", unix.MS_BIND, "")
}
