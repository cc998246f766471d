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
func allowForwarding(ctx context.Context, families topology.Families) error {
	for _, family := range families {
		if _, err := exec.LookPath(family.IPTables); err != nil {
			continue
		}
		policy, err := exec.CommandContext(ctx, family.IPTables, "-w", "-S", "FORWARD").Output()
		if err != nil || !strings.Contains(string(policy), "-P FORWARD DROP") {
			// Where iptables does not work at all, nothing of its drops packets.
			continue
		}
		for _, rule := range forwardingRules(family) {
			if exec.CommandContext(ctx, family.IPTables, append([]string{"-w", "-C", "FORWARD"}, rule...)...).Run() == nil {
				continue
			}
			if output, err := exec.CommandContext(ctx, family.IPTables, append([]string{"-w", "-I", "FORWARD"}, rule...)...).CombinedOutput(); err != nil {
				return fmt.Errorf("allow Pods through the machine's firewall: %s: %w\n%s", family.IPTables, err, output)
			}
		}
	}
	return nil
}

func forbidForwarding(ctx context.Context) error {
	for _, family := range topology.AllFamilies() {
		if _, err := exec.LookPath(family.IPTables); err != nil {
			continue
		}
		for _, rule := range forwardingRules(family) {
			for exec.CommandContext(ctx, family.IPTables, append([]string{"-w", "-C", "FORWARD"}, rule...)...).Run() == nil {
				if output, err := exec.CommandContext(ctx, family.IPTables, append([]string{"-w", "-D", "FORWARD"}, rule...)...).CombinedOutput(); err != nil {
					return fmt.Errorf("remove the firewall rule for Pods: %s: %w\n%s", family.IPTables, err, output)
				}
			}
		}
	}
	return nil
}

// forwardingRules accept the packets of all nodes' Pods.
func forwardingRules(family topology.Family) [][]string {
	comment := []string{"-m", "comment", "--comment", topology.Name, "-j", "ACCEPT"}
	return [][]string{
		append([]string{"-s", family.AllPods}, comment...),
		append([]string{"-d", family.AllPods}, comment...),
	}
}
