package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// It is in every Pod of the WebApps that scale by their traffic.
func TestTheProgramIsSmall(t *testing.T) {
	g := NewWithT(t)
	program := filepath.Join(t.TempDir(), "meter")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s", output)
	made, err := os.Stat(program)
	g.Expect(err).NotTo(HaveOccurred())
	t.Logf("%.1f MiB", float64(made.Size())/(1<<20))
	g.Expect(made.Size()).To(BeNumerically("<=", 15<<20))
}
