//go:build linux

// Package footprint remembers what the machine was like before the cluster, and
// makes it so again: kernel settings, folders outside the state folder, cgroups, mounts.
package footprint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// kernelSettings are those that the cluster changes, with the value that it sets.
// All but those of forwarding are the kubelet's doing.
var kernelSettings = map[string]string{
	forwardIPv4:                 "1",
	forwardIPv6:                 "1",
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// The kernel settings by which a machine routes.
const (
	forwardIPv4 = "net/ipv4/ip_forward"
	forwardIPv6 = "net/ipv6/conf/all/forwarding"
)

// Footprint is the state of the machine before the cluster.
type Footprint struct {
	KernelSettings map[string]string `json:"kernelSettings"`
	// AbsentFolders did not exist.
	AbsentFolders []string `json:"absentFolders"`
	// Tables are the nftables tables that existed.
	Tables []string `json:"tables"`
	// Controllers are those of cgroup v2 that were enabled.
	Controllers []string `json:"controllers,omitempty"`
}

func file(state layout.State) string { return state.Path("machine.json") }

// Record writes down the machine's state, once: after a crash in the middle of a
// start the first record is still the true one.
func Record(state layout.State, tables []string, families topology.Families) error {
	if _, err := os.Stat(file(state)); err == nil {
		return nil
	}
	f := Footprint{KernelSettings: map[string]string{}, Tables: tables, Controllers: enabledControllers()}
	for name := range kernelSettings {
		// What the cluster leaves alone is another program's.
		if name == forwardIPv6 && !families.HaveIPv6() {
			continue
		}
		if value, err := readSetting(name); err == nil {
			f.KernelSettings[name] = value
		}
	}
	for _, dir := range sharedFolders() {
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			f.AbsentFolders = append(f.AbsentFolders, dir)
		}
	}
	content, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	partial := file(state) + ".partial"
	if err := os.WriteFile(partial, content, 0o644); err != nil {
		return err
	}
	return os.Rename(partial, file(state))
}

// Load returns what was recorded; nothing if the cluster never came that far.
func Load(state layout.State) (Footprint, error) {
	content, err := os.ReadFile(file(state))
	if errors.Is(err, fs.ErrNotExist) {
		return Footprint{}, nil
	}
	if err != nil {
		return Footprint{}, err
	}
	var f Footprint
	if err := json.Unmarshal(content, &f); err != nil {
		return Footprint{}, fmt.Errorf("%s: %w", file(state), err)
	}
	return f, nil
}

// EnableForwarding lets the machine route for the Pods.
func EnableForwarding(families topology.Families) error {
	if !families.HaveIPv6() {
		return set(forwardIPv4)
	}
	return errors.Join(set(forwardIPv4), set(forwardIPv6))
}

// set gives a setting the cluster's value.
func set(name string) error {
	if value, err := readSetting(name); err == nil && value == kernelSettings[name] {
		return nil
	}
	return writeSetting(name, kernelSettings[name])
}

// RestoreKernelSettings puts back what still has the cluster's value. What has
// another one by now was set by another program.
func (f Footprint) RestoreKernelSettings() error {
	var errs []error
	for name, before := range f.KernelSettings {
		now, err := readSetting(name)
		if err != nil || now == before || now != kernelSettings[name] {
			continue
		}
		errs = append(errs, writeSetting(name, before))
	}
	return errors.Join(errs...)
}

func settingFile(name string) string { return filepath.Join("/proc/sys", name) }

func readSetting(name string) (string, error) {
	content, err := os.ReadFile(settingFile(name))
	return strings.TrimSpace(string(content)), err
}

func writeSetting(name, value string) error {
	if err := os.WriteFile(settingFile(name), []byte(value), 0o644); err != nil {
		return fmt.Errorf("kernel setting %s: %w", strings.ReplaceAll(name, "/", "."), err)
	}
	return nil
}

// removeFolders removes the folders that were not there before and are empty, the
// deepest first. A folder that holds files of others stays.
func (f Footprint) removeFolders() {
	folders := sharedFolders()
	slices.SortFunc(folders, func(a, b string) int { return len(b) - len(a) })
	for _, dir := range folders {
		if slices.Contains(f.AbsentFolders, dir) {
			_ = os.Remove(dir)
		}
	}
}
