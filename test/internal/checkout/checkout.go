// Package checkout copies the repository to where a test may change it and run its commands.
package checkout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// left are the parts of the repository that no copy has: Git's, and what was built.
var left = []string{".git", "bin", "dist"}

// settings are variables that change what the repository's commands do. A test sets its own.
var settings = []string{
	"MAKEFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "MFLAGS", "GNUMAKEFLAGS", "KUBECONFIG", "KUBERNETES", "IP_FAMILIES", "NETWORK_POLICIES", "PREBUILT", "PLATFORMS", "CONTAINER_TOOL",
	"VERSION", "IMAGE_TAG_BASE", "IMG", "DEMO_IMG", "BUNDLE_IMG", "BUNDLE_IMGS", "CATALOG_IMG", "CATALOG_BASE_IMG", "OPM_IMAGE",
	"SCORECARD_IMG", "REVIEWERS", "CHANNELS", "DEFAULT_CHANNEL", "USE_IMAGE_DIGESTS", "SOURCE_DATE_EPOCH", "RUN_BUNDLE_ARGS",
	"BUNDLE_GEN_FLAGS", "BUNDLE_METADATA_OPTS", "BUNDLE_CHANNELS", "BUNDLE_DEFAULT_CHANNEL", "LOCALBIN", "OPERATOR_SDK_VERSION",
	"KUSTOMIZE_VERSION", "CONTROLLER_TOOLS_VERSION", "GOLANGCI_LINT_VERSION", "ENVTEST_VERSION", "ENVTEST_K8S_VERSION",
	"KUSTOMIZE", "CONTROLLER_GEN", "ENVTEST", "GOLANGCI_LINT", "OPERATOR_SDK", "OPM", "KIND", "KIND_CLUSTER", "KUBECTL",
	"ENABLE_WEBHOOKS", "WATCH_NAMESPACE", "FROM_INDEX_OPT",
}

// Checkout is a copy of the working tree, committed or not, without a Git repository. It has
// the tools of the original, which `make test` builds.
type Checkout struct {
	// Root is its folder.
	Root string
	// Env is the environment of its commands.
	Env []string
}

// New copies the repository at a root. The copy is removed with the test.
func New(t *testing.T, root string) *Checkout {
	t.Helper()
	c := &Checkout{Root: t.TempDir(), Env: Environment()}
	tools, err := filepath.Abs(filepath.Join(root, "bin/tools"))
	if err == nil {
		err = c.copyFrom(t.Context(), root)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(c.Root, "bin"), 0o755)
	}
	if err == nil {
		err = os.Symlink(tools, filepath.Join(c.Root, "bin/tools"))
	}
	if err != nil {
		t.Fatalf("copy the repository: %v", err)
	}
	return c
}

// Environment is that of the test without the settings of the repository's commands.
func Environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(settings, name)
	})
}

// copyFrom copies with times, by which make knows what is out of date.
func (c *Checkout) copyFrom(ctx context.Context, root string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	arguments := []string{"-Rp"}
	for _, entry := range entries {
		if !slices.Contains(left, entry.Name()) {
			arguments = append(arguments, filepath.Join(root, entry.Name()))
		}
	}
	output, err := exec.CommandContext(ctx, "cp", append(arguments, c.Root)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

// Path is where a file of the repository is in the copy.
func (c *Checkout) Path(name string) string { return filepath.Join(c.Root, filepath.FromSlash(name)) }

// Read reads a file of the copy.
func (c *Checkout) Read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(c.Path(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Write writes a file of the copy, and makes its folder.
func (c *Checkout) Write(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(c.Path(name)), 0o755)
	if err == nil {
		err = os.WriteFile(c.Path(name), []byte(content), mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Run runs a command at the root of the copy, and returns all that it says. The error is that
// of a command that fails; one that cannot be run ends the test.
func (c *Checkout) Run(t *testing.T, program string, arguments ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Dir, command.Env = c.Root, c.Env
	output, err := command.CombinedOutput()
	if failed, isExit := errors.AsType[*exec.ExitError](err); isExit {
		// In a line: a test would print an ExitError in thirty, and after them a log may be cut.
		return string(output), errors.New(failed.Error())
	}
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return string(output), nil
}
