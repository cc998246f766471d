package kind_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/internal/checkout"
)

const page = "docs/adding-a-kind.md"

var allTests = flag.Bool("all", false, "run all tests of the copy with the new kind, which takes as long as `make test`")

var (
	// block is a block of code, and the line before it.
	block = regexp.MustCompile("([^\n]*)\n\n```([a-z]+)\n((?s:.*?)\n)```\n")
	// place is how that line names the file that the block is for.
	place = regexp.MustCompile("\\b[Ii]n `([^` ]+)`[^`]*:$")
	// separator is between two places of the same file.
	separator = regexp.MustCompile(`(?m)^@@\n`)
)

// edited is a text after a difference: its lines with a space or a minus must be there, once.
func edited(g Gomega, file, text, difference string) string {
	for _, part := range separator.Split(difference, -1) {
		var before, after strings.Builder
		for line := range strings.Lines(part) {
			if line[0] != '+' {
				before.WriteString(line[1:])
			}
			if line[0] != '-' {
				after.WriteString(line[1:])
			}
		}
		g.Expect(strings.Count(text, before.String())).To(Equal(1), "%s must have these lines once:\n%s", file, before.String())
		text = strings.Replace(text, before.String(), after.String(), 1)
	}
	return text
}

// follow does what the page says, to a copy of the repository.
func follow(t *testing.T, copied *checkout.Checkout) {
	t.Helper()
	steps := block.FindAllStringSubmatch(copied.Read(t, page), -1)
	NewWithT(t).Expect(len(steps)).To(BeNumerically(">", 20))
	for _, step := range steps {
		g := NewWithT(t)
		language, text := step[2], step[3]
		if language == "sh" {
			for command := range strings.Lines(text) {
				said, err := copied.Run(t, "bash", "-ec", command)
				g.Expect(err).NotTo(HaveOccurred(), "%s\n%s", command, said)
				t.Log(strings.TrimSpace(command), "\n", said)
			}
			continue
		}
		named := place.FindStringSubmatch(step[1])
		g.Expect(named).To(HaveLen(2), "%q does not say which file the block is for", step[1])
		file := named[1]
		if language == "diff" {
			copied.Write(t, file, edited(g, file, copied.Read(t, file), text), 0o644)
			continue
		}
		g.Expect(copied.Path(file)).NotTo(BeAnExistingFile())
		copied.Write(t, file, text, 0o644)
	}
}

// generating are the targets that `make verify` compares, but for the module files: no step of the
// page changes them, and they need modules that nothing else does.
func generating(t *testing.T, copied *checkout.Checkout) []string {
	t.Helper()
	list := regexp.MustCompile(`targets=\(tidy ([a-z -]+)\)`).FindStringSubmatch(copied.Read(t, "hack/verify.sh"))
	NewWithT(t).Expect(list).To(HaveLen(2))
	return strings.Fields(list[1])
}

// The commands of the page run in the copy, and the tests among them hold the new kind to be
// complete. These need the tools that `make test` builds, and its API server.
func TestAKindIsAddedByThePage(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("this test needs etcd and kube-apiserver: run it with `make test-kind`, or set KUBEBUILDER_ASSETS to the folder that holds both")
	}
	copied := checkout.New(t, root)
	// As the Makefile has it, so that what is compiled for the product serves here as well.
	copied.Env = append(copied.Env, "CGO_ENABLED=0")
	// What verify looks at is what Git knows, or would.
	said, err := copied.Run(t, "git", "init", "--quiet")
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred(), said)
	follow(t, copied)
	said, err = copied.Run(t, "hack/verify.sh", generating(t, copied)...)
	g.Expect(err).NotTo(HaveOccurred(), said)
	if *allTests {
		built, err := filepath.Abs(filepath.Join(root, "bin/k8s"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.Symlink(built, copied.Path("bin/k8s"))).To(Succeed())
		said, err = copied.Run(t, "make", "test")
		g.Expect(err).NotTo(HaveOccurred(), said)
	}
}
