// Package debian makes sure that the programs of the distribution that the
// cluster needs are there. Programs count, not packages: who has containerd from
// elsewhere keeps it.
package debian

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Requirement is a program and the Debian package that has it.
type Requirement struct {
	// Program is looked up in the PATH, or in Folders if there are any.
	Program string
	Folders []string
	Package string
	// Static is said of a program that must run where there are no libraries.
	Static bool
}

// cniFolders are where distributions and Docker put the CNI plugins.
var cniFolders = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}

// Requirements of the cluster.
func Requirements(iptables, networkPolicies bool) []Requirement {
	required := []Requirement{
		{Program: "containerd", Package: "containerd"},
		{Program: "ctr", Package: "containerd"},
		{Program: "runc", Package: "runc"},
		{Program: "ptp", Folders: cniFolders, Package: "containernetworking-plugins"},
		{Program: "nft", Package: "nftables"},
		{Program: "buildah", Package: "buildah"},
		{Program: "mount", Package: "mount"},
	}
	if iptables || networkPolicies {
		required = append(required, Requirement{Program: "iptables", Package: "iptables"})
	}
	if networkPolicies {
		required = append(required, Requirement{Program: "ipset", Package: "ipset"})
	}
	return required
}

// busyBox is the shell and the tools in images that are made from scratch.
var busyBox = Requirement{Program: "busybox", Package: "busybox-static", Static: true}

// OLMRequirements are what OLM's images need in addition.
func OLMRequirements() []Requirement { return []Requirement{busyBox} }

// BusyBox is where the static busybox is.
func BusyBox() (string, error) {
	path := find(busyBox)
	if path == "" {
		return "", missingError([]string{busyBox.Package})
	}
	return path, nil
}

// CNIFolder is where the CNI plugins are.
func CNIFolder() string {
	if path := find(Requirement{Program: "ptp", Folders: cniFolders}); path != "" {
		return filepath.Dir(path)
	}
	return cniFolders[0]
}

// Ensure installs what is missing on Debian and its derivatives, and names it elsewhere.
func Ensure(ctx context.Context, required []Requirement, progress io.Writer) error {
	missing := missingPackages(required, find)
	if len(missing) == 0 {
		return nil
	}
	aptGet, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return missingError(missing)
	}
	fmt.Fprintf(progress, "Installing Debian packages: %s\n", strings.Join(missing, " "))
	if err := install(ctx, aptGet, missing); err == nil {
		return stillMissing(required)
	}
	// A fresh machine or container has no package lists yet, or outdated ones.
	if output, err := run(ctx, aptGet, "update"); err != nil {
		return fmt.Errorf("apt-get update: %w\n%s", err, output)
	}
	if err := install(ctx, aptGet, missing); err != nil {
		return err
	}
	return stillMissing(required)
}

func install(ctx context.Context, aptGet string, packages []string) error {
	args := append([]string{"install", "--yes", "--no-install-recommends"}, packages...)
	if output, err := run(ctx, aptGet, args...); err != nil {
		return fmt.Errorf("apt-get install %s: %w\n%s", strings.Join(packages, " "), err, output)
	}
	return nil
}

func run(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	// The package of containerd starts it as a service, which is not wanted:
	// offline, systemd notes the unit and starts nothing.
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "SYSTEMD_OFFLINE=1")
	return cmd.CombinedOutput()
}

func stillMissing(required []Requirement) error {
	if missing := missingPackages(required, find); len(missing) > 0 {
		return missingError(missing)
	}
	return nil
}

func missingError(packages []string) error {
	return fmt.Errorf("the cluster needs programs of these Debian packages (other distributions have them under similar names): %s\n"+
		"install them, for example: apt-get install --no-install-recommends %s",
		strings.Join(packages, ", "), strings.Join(packages, " "))
}

func missingPackages(required []Requirement, find func(Requirement) string) []string {
	var missing []string
	for _, r := range required {
		if find(r) == "" && !slices.Contains(missing, r.Package) {
			missing = append(missing, r.Package)
		}
	}
	return missing
}

// find returns the path of a program, or nothing.
func find(r Requirement) string {
	path := findAny(r)
	if r.Static && path != "" && !isStatic(path) {
		return ""
	}
	return path
}

// isStatic reports whether a program needs no loader, and thus no libraries.
func isStatic(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

func findAny(r Requirement) string {
	if len(r.Folders) == 0 {
		path, err := exec.LookPath(r.Program)
		if err != nil && !errors.Is(err, exec.ErrDot) {
			return findInSystemFolders(r.Program)
		}
		return path
	}
	return findIn(r.Folders, r.Program)
}

// findInSystemFolders looks where root's programs are, which a plain user's PATH lacks.
func findInSystemFolders(program string) string {
	return findIn([]string{"/usr/sbin", "/sbin", "/usr/local/sbin"}, program)
}

func findIn(folders []string, program string) string {
	for _, folder := range folders {
		path := filepath.Join(folder, program)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}
