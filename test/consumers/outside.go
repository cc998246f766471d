//go:build linux

package consumers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Addresses of the wire between this machine and the client outside, from the range for documentation.
const (
	outsideName   = "crisvc-outside"
	outsideWire   = "crisvc-wire0"
	outsidePeer   = "crisvc-wire1"
	outsideHostIP = "203.0.113.1"
	outsideIP     = "203.0.113.2"
)

// Outside is a client that is neither a node nor a Pod. Only for such a one does
// externalTrafficPolicy: Local hold: kube-proxy treats what comes from the node itself, or from a
// Pod, as traffic inside the cluster.
type Outside struct{ namespace *os.File }

// NewOutside makes a network namespace with a wire to this machine. It needs root.
func NewOutside(ctx context.Context) (*Outside, error) {
	remove(ctx)
	for _, command := range []string{
		"netns add " + outsideName,
		"link add " + outsideWire + " type veth peer name " + outsidePeer + " netns " + outsideName,
		"addr add " + outsideHostIP + "/30 dev " + outsideWire,
		"link set " + outsideWire + " up",
		"-n " + outsideName + " addr add " + outsideIP + "/30 dev " + outsidePeer,
		"-n " + outsideName + " link set " + outsidePeer + " up",
		"-n " + outsideName + " route add default via " + outsideHostIP,
	} {
		if err := ip(ctx, command); err != nil {
			remove(ctx)
			return nil, err
		}
	}
	namespace, err := os.Open("/run/netns/" + outsideName)
	if err != nil {
		remove(ctx)
		return nil, err
	}
	return &Outside{namespace: namespace}, nil
}

// Close removes the namespace and the wire.
func (o *Outside) Close(ctx context.Context) error {
	return errors.Join(o.namespace.Close(), ip(ctx, "netns delete "+outsideName))
}

// Dial opens a connection from outside. The address must be an IP address: a name would be looked up
// by another goroutine, and so from inside.
func (o *Outside) Dial(ctx context.Context, network, address string) (connection net.Conn, err error) {
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	defer func() { _ = home.Close() }()
	if err := unix.Setns(int(o.namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	connection, err = (&net.Dialer{}).DialContext(ctx, network, address)
	// A thread that cannot go home is not unlocked: it ends with its goroutine.
	if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
		return connection, errors.Join(err, back)
	}
	runtime.UnlockOSThread()
	return connection, err
}

// remove takes away what a run that was interrupted left behind; mostly there is nothing.
func remove(ctx context.Context) {
	_ = ip(ctx, "netns delete "+outsideName)
	_ = ip(ctx, "link delete "+outsideWire)
}

func ip(ctx context.Context, command string) error {
	output, err := exec.CommandContext(ctx, "ip", strings.Fields(command)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", command, err, strings.TrimSpace(string(output)))
	}
	return nil
}
