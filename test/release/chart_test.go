package release_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/internal/registry"
)

// run runs a program at the root of the repository.
func run(t *testing.T, program string, arguments ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Dir = root
	// Without credentials and settings of the user.
	command.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME=", "HELM_CONFIG_HOME="+t.TempDir(), "DOCKER_CONFIG="+t.TempDir())
	said, err := command.CombinedOutput()
	return string(said), err
}

// This test needs crane and helm in bin/tools: `make test` builds them.
func TestAChartIsPulledFromTheRegistryAsItWasPushed(t *testing.T) {
	repository := registry.Serve(t, root) + "/critical-service"
	for _, chart := range []string{"config/chart/critical-service-operator", "workloads/config/chart/critical-service-workloads"} {
		t.Run(filepath.Base(chart), func(t *testing.T) {
			g := NewWithT(t)
			must := func(said string, err error) string {
				g.Expect(err).NotTo(HaveOccurred(), said)
				return said
			}
			folder, name := t.TempDir(), filepath.Base(chart)
			must(run(t, "bin/tools/helm", "package", "--version", "1.2.3", "--destination", folder, chart))
			packed := filepath.Join(folder, name+"-1.2.3.tgz")
			push := func() (string, error) { return run(t, "hack/push-chart.sh", packed, repository, "--plain-http") }
			g.Expect(must(push())).To(ContainSubstring("Pushed: " + repository + "/" + name + ":1.2.3"))
			g.Expect(must(push())).To(BeEmpty(), "it is there already")

			must(run(t, "bin/tools/helm", "pull", "oci://"+repository+"/"+name, "--version", "1.2.3", "--plain-http", "--destination", t.TempDir()))
			shown := must(run(t, "bin/tools/helm", "show", "chart", "oci://"+repository+"/"+name, "--version", "1.2.3", "--plain-http"))
			g.Expect(shown).To(And(ContainSubstring("name: "+name+"\n"), ContainSubstring("version: 1.2.3\n")))

			must(run(t, "bin/tools/helm", "package", "--version", "1.2.3", "--app-version", "other", "--destination", folder, chart))
			said, err := push()
			g.Expect(err).To(HaveOccurred())
			g.Expect(said).To(ContainSubstring("has 1.2.3 with another content. A version is published once"))
		})
	}
}

func TestAChartIsNotPushedWhereItCannotBeSeenWhatIsThere(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	said, err := run(t, "bin/tools/helm", "package", "--destination", folder, "config/chart/critical-service-operator")
	g.Expect(err).NotTo(HaveOccurred(), said)
	packed, err := filepath.Glob(filepath.Join(folder, "*.tgz"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(packed).To(HaveLen(1))
	// No registry is there.
	said, err = run(t, "hack/push-chart.sh", packed[0], "127.0.0.1:1/critical-service", "--plain-http")
	g.Expect(err).To(HaveOccurred())
	g.Expect(said).To(HavePrefix("Not published: whether oci://127.0.0.1:1/critical-service/critical-service-operator has "))
}
