//go:build linux

package network

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// chainPrefix begins the name of every iptables chain of kube-proxy and kube-router.
const chainPrefix = "KUBE-"

// iptablesFamilies are the command prefixes for IPv4 and IPv6.
var iptablesFamilies = topology.AllFamilies().Each(func(f topology.Family) string { return f.IPTables })

// checkNoKubeChains refuses a machine on which a kube-proxy or kubelet has
// iptables chains: ours could not be distinguished from them.
func checkNoKubeChains(ctx context.Context) error {
	for _, family := range iptablesFamilies {
		rules, err := saveRules(ctx, family)
		if err != nil {
			return err
		}
		if removal(rules) != "" {
			return fmt.Errorf("there are %s chains of another Kubernetes on this machine (%s-save | grep %s): stop that first",
				family, family, chainPrefix)
		}
	}
	return nil
}

// removeKubeChains removes the rules of kube-proxy in iptables mode, and of kube-router. Its own
// --cleanup leaves the chains that it shares with the kubelet.
func removeKubeChains(ctx context.Context) error {
	var errs []error
	for _, family := range iptablesFamilies {
		rules, err := saveRules(ctx, family)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		commands := removal(rules)
		if commands == "" {
			continue
		}
		restore := exec.CommandContext(ctx, family+"-restore", "--wait", "--noflush")
		restore.Stdin = strings.NewReader(commands)
		if output, err := restore.CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("%s-restore: %w\n%s", family, err, output))
		}
	}
	return errors.Join(errs...)
}

// RemoveKubeRouterSets removes the sets of addresses that kube-router made for NetworkPolicies. The kernel lets go of a set
// a moment after the last rule that names it.
func RemoveKubeRouterSets(ctx context.Context) error {
	const tries, pause = 20, 250 * time.Millisecond
	var err error
	for range tries {
		if err = removeKubeSets(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return err
}

func removeKubeSets(ctx context.Context) error {
	output, err := exec.CommandContext(ctx, "ipset", "list", "-name").Output()
	if err != nil {
		return fmt.Errorf("ipset list: %w", err)
	}
	var errs []error
	for _, name := range kubeSets(string(output)) {
		if output, err := exec.CommandContext(ctx, "ipset", "destroy", name).CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("ipset destroy %s: %w\n%s", name, err, output))
		}
	}
	return errors.Join(errs...)
}

// kubeSets are those of the names of sets that kube-router gives.
func kubeSets(list string) []string {
	var names []string
	for name := range strings.Lines(list) {
		name = strings.TrimSpace(name)
		if strings.HasPrefix(strings.TrimPrefix(name, "inet6:"), chainPrefix) {
			names = append(names, name)
		}
	}
	return names
}

// saveRules returns nothing where there is no iptables.
func saveRules(ctx context.Context, family string) (string, error) {
	if _, err := exec.LookPath(family + "-save"); err != nil {
		return "", nil
	}
	output, err := exec.CommandContext(ctx, family+"-save").Output()
	if err != nil {
		return "", fmt.Errorf("%s-save: %w", family, err)
	}
	return string(output), nil
}

// removal turns the output of iptables-save into the input of iptables-restore
// that removes kube-proxy's chains and the jumps to them; nothing if there are none.
func removal(saved string) string {
	var result, table strings.Builder
	var chains []string
	for line := range strings.Lines(saved) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "*"):
			table.Reset()
			table.WriteString(line + "\n")
			chains = nil
		case strings.HasPrefix(line, ":"+chainPrefix):
			chain := strings.Fields(line)[0][1:]
			chains = append(chains, chain)
			table.WriteString("-F " + chain + "\n")
		case isJumpFromOutside(line):
			table.WriteString("-D " + strings.TrimPrefix(line, "-A ") + "\n")
		case line == "COMMIT" && len(chains) > 0:
			for _, chain := range chains {
				table.WriteString("-X " + chain + "\n")
			}
			result.WriteString(table.String() + "COMMIT\n")
		}
	}
	return result.String()
}

// isJumpFromOutside recognises a rule in a chain of another program that jumps to
// one of kube-proxy's.
func isJumpFromOutside(line string) bool {
	return strings.HasPrefix(line, "-A ") && !strings.HasPrefix(line, "-A "+chainPrefix) && strings.Contains(line, "-j "+chainPrefix)
}
