//go:build linux

package network

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// Docker and some firewalls drop every forwarded packet that no rule accepts, and
// a rule in a table of our own could not change that: the chain that drops must accept.
func allowForwarding(ctx context.Context) error {
	if _, err := exec.LookPath("iptables"); err != nil {
		return nil
	}
	policy, err := exec.CommandContext(ctx, "iptables", "-w", "-S", "FORWARD").Output()
	if err != nil || !strings.Contains(string(policy), "-P FORWARD DROP") {
		// Where iptables does not work at all, nothing of its drops packets.
		return nil
	}
	for _, rule := range forwardingRules() {
		if exec.CommandContext(ctx, "iptables", append([]string{"-w", "-C", "FORWARD"}, rule...)...).Run() == nil {
			continue
		}
		if output, err := exec.CommandContext(ctx, "iptables", append([]string{"-w", "-I", "FORWARD"}, rule...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("allow Pods through the machine's firewall: iptables: %w\n%s", err, output)
		}
	}
	return nil
}

func forbidForwarding(ctx context.Context) error {
	if _, err := exec.LookPath("iptables"); err != nil {
		return nil
	}
	for _, rule := range forwardingRules() {
		for exec.CommandContext(ctx, "iptables", append([]string{"-w", "-C", "FORWARD"}, rule...)...).Run() == nil {
			if output, err := exec.CommandContext(ctx, "iptables", append([]string{"-w", "-D", "FORWARD"}, rule...)...).CombinedOutput(); err != nil {
				return fmt.Errorf("remove the firewall rule for Pods: iptables: %w\n%s", err, output)
			}
		}
	}
	return nil
}

func forwardingRules() [][]string {
	comment := []string{"-m", "comment", "--comment", topology.Name, "-j", "ACCEPT"}
	return [][]string{
		append([]string{"-s", topology.PodCIDR}, comment...),
		append([]string{"-d", topology.PodCIDR}, comment...),
	}
}
