//go:build linux

package network

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// kubeProxyTable is kube-proxy's, in nftables mode, for each family.
const kubeProxyTable = "kube-proxy"

// tableFamilies are those in which kube-proxy, and this package, have tables.
var tableFamilies = []string{"ip", "ip6"}

// Tables lists the machine's nftables tables as "family name".
func Tables(ctx context.Context) ([]string, error) {
	// Where nft is missing there are no tables that we could be concerned with.
	if _, err := exec.LookPath("nft"); err != nil {
		return nil, nil
	}
	output, err := exec.CommandContext(ctx, "nft", "list", "tables").Output()
	if err != nil {
		return nil, fmt.Errorf("nft list tables: %w", err)
	}
	var tables []string
	for line := range strings.Lines(string(output)) {
		if table, ok := strings.CutPrefix(strings.TrimSpace(line), "table "); ok {
			tables = append(tables, table)
		}
	}
	return tables, nil
}

// CheckNoKubeProxy refuses a machine on which another kube-proxy is at work.
func CheckNoKubeProxy(ctx context.Context, tables []string) error {
	return errors.Join(checkNoKubeTables(tables), checkNoKubeChains(ctx))
}

func checkNoKubeTables(tables []string) error {
	for _, family := range tableFamilies {
		if slices.Contains(tables, family+" "+kubeProxyTable) {
			return fmt.Errorf("the nftables table %q exists already: another kube-proxy runs on this machine, "+
				"or one left its rules (remove them: nft delete table %s %s)", family+" "+kubeProxyTable, family, kubeProxyTable)
		}
	}
	return nil
}

// RemoveKubeProxyRules removes what kube-proxy programmed in either mode, and the
// tables that this made.
func RemoveKubeProxyRules(ctx context.Context, tablesBefore []string) error {
	var errs []error
	for _, family := range tableFamilies {
		errs = append(errs, deleteTable(ctx, family, kubeProxyTable))
	}
	errs = append(errs, removeKubeChains(ctx), removeEmptyTables(ctx, tablesBefore))
	return errors.Join(errs...)
}

// removeEmptyTables removes the tables that the iptables command makes for
// kube-proxy, if nothing is in them and they were not there before.
func removeEmptyTables(ctx context.Context, before []string) error {
	tables, err := Tables(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, table := range tables {
		family, name, _ := strings.Cut(table, " ")
		made := slices.Contains([]string{"nat", "filter", "mangle", "raw"}, name) && slices.Contains(tableFamilies, family)
		if !made || slices.Contains(before, table) {
			continue
		}
		content, err := exec.CommandContext(ctx, "nft", "list", "table", family, name).Output()
		if err != nil {
			errs = append(errs, fmt.Errorf("nft list table %s: %w", table, err))
			continue
		}
		if !hasRules(string(content)) {
			errs = append(errs, deleteTable(ctx, family, name))
		}
	}
	return errors.Join(errs...)
}

// hasRules reports whether a listed table has anything but empty base chains.
func hasRules(listing string) bool {
	for line := range strings.Lines(listing) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", line == "}", strings.HasPrefix(line, "#"), strings.HasPrefix(line, "table "):
		case strings.HasPrefix(line, "type ") && strings.HasSuffix(line, "policy accept;"):
		case strings.HasPrefix(line, "chain "):
			// A chain that is not one of netfilter's hooks was made by another program.
			if !slices.Contains([]string{"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"}, strings.Fields(line)[1]) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

func deleteTable(ctx context.Context, family, name string) error {
	tables, err := Tables(ctx)
	if err != nil || !slices.Contains(tables, family+" "+name) {
		return err
	}
	if output, err := exec.CommandContext(ctx, "nft", "delete", "table", family, name).CombinedOutput(); err != nil {
		return fmt.Errorf("nft delete table %s %s: %w\n%s", family, name, err, output)
	}
	return nil
}
