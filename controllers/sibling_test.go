package controllers_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// sibling is the module of the second operator of this repository.
const sibling = module + "workloads"

// golist is what `go list` prints in the root of the repository.
func golist(t *testing.T, arguments ...string) []string {
	t.Helper()
	command := exec.Command("go", append([]string{"list"}, arguments...)...)
	command.Dir = ".."
	output, err := command.Output()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return strings.Fields(string(output))
}

// The workloads operator is a client of the core's API. The core is built, generated and
// granted permissions as if it were not there.
func TestTheCoreIsMadeFromNothingOfTheWorkloads(t *testing.T) {
	g := NewWithT(t)
	g.Expect(golist(t, "-deps", ".", "./cmd/...")).To(And(ContainElement(module+"internal/operator"), Not(ContainElement(HavePrefix(sibling)))))
	g.Expect(golist(t, "./...")).NotTo(ContainElement(HavePrefix(sibling)), "what is generated from ./controllers/... and ./internal/... reads none of its markers")
	g.Expect(golist(t, "-m", "all")).NotTo(ContainElement(sibling), "and go.mod does not require it")
}

func TestTheConfigurationAndTheBundleOfTheCoreNameNothingOfTheWorkloads(t *testing.T) {
	g := NewWithT(t)
	words := []string{"critical-service-workloads"}
	definitions, err := filepath.Glob("../workloads/config/crd/bases/mycrd.com_*.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(definitions).NotTo(BeEmpty())
	for _, file := range definitions {
		plural := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "mycrd.com_"), ".yaml")
		words = append(words, "\n  - "+plural+"\n", "\n          - "+plural+"\n", plural+".mycrd.com")
	}
	for _, folder := range []string{"../config", "../bundle"} {
		g.Expect(fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := os.ReadFile(filepath.Join(folder, name))
			for _, word := range words {
				g.Expect(string(data)).NotTo(ContainSubstring(word), "%s/%s", folder, name)
			}
			return err
		})).To(Succeed())
	}
}
