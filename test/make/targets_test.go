package make_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// The targets of a project that `operator-sdk init` of version 1.42 makes, but for catalog's SQLite index.
var targets = []string{
	"all", "help", "manifests", "generate", "fmt", "vet", "test", "setup-test-e2e", "test-e2e", "cleanup-test-e2e",
	"lint", "lint-fix", "lint-config",
	"build", "run", "docker-build", "docker-push", "docker-buildx", "build-installer",
	"install", "uninstall", "deploy", "undeploy",
	"kustomize", "controller-gen", "setup-envtest", "envtest", "golangci-lint", "operator-sdk", "opm",
	"bundle", "bundle-build", "bundle-push", "catalog-build", "catalog-push",
}

func TestTheScaffoldsTargetsAreThere(t *testing.T) {
	for _, target := range targets {
		t.Run(target, func(t *testing.T) {
			said, err := planned(t, target)
			NewWithT(t).Expect(err).NotTo(HaveOccurred(), said)
		})
	}
}

func TestATargetThatIsTheSameDoesTheSame(t *testing.T) {
	for alias, target := range map[string]string{"all": "build", "test-e2e": "e2e", "envtest": "setup-envtest"} {
		g := NewWithT(t)
		same, err := planned(t, alias)
		g.Expect(err).NotTo(HaveOccurred(), same)
		said, err := planned(t, target)
		g.Expect(err).NotTo(HaveOccurred(), said)
		g.Expect(same).To(Equal(said), alias)
		g.Expect(said).NotTo(BeEmpty(), target)
	}
}

func TestEveryToolIsATarget(t *testing.T) {
	g := NewWithT(t)
	modules, err := filepath.Glob(filepath.Join(root, "hack/tools/*.mod"))
	g.Expect(err).NotTo(HaveOccurred())
	var tools []string
	for _, module := range modules {
		if name := strings.TrimSuffix(filepath.Base(module), ".mod"); name != "go" {
			tools = append(tools, name)
		}
	}
	g.Expect(len(tools)).To(BeNumerically(">", 5))
	elsewhere := t.TempDir()
	for _, tool := range tools {
		said, err := planned(t, tool, "TOOLS="+elsewhere)
		g.Expect(err).NotTo(HaveOccurred(), said)
		g.Expect(said).To(MatchRegexp(`go build -modfile=`+tool+`\.mod .*-o `+elsewhere+`/`+tool+` tool`), tool)
	}
	help, err := repository().Run(t, "make", "help")
	g.Expect(err).NotTo(HaveOccurred(), help)
	heading := regexp.MustCompile(`(?m)^Tools, .*: (.*)$`).FindStringSubmatch(help)
	g.Expect(heading).To(HaveLen(2), help)
	g.Expect(strings.Fields(heading[1])).To(ConsistOf(tools), "the heading of the tools in `make help`")
	g.Expect(help).To(HaveSuffix(heading[0]+"\n"), "below that heading is nothing else")
}

func TestHelpIsReadable(t *testing.T) {
	g := NewWithT(t)
	help, err := repository().Run(t, "make", "help")
	g.Expect(err).NotTo(HaveOccurred(), help)
	for line := range strings.Lines(help) {
		g.Expect(len(line)).To(BeNumerically("<=", 160), line)
	}
	for _, target := range targets {
		g.Expect(help).To(MatchRegexp(`(?m)(^  `+target+` |^Tools, .* `+target+`( |$))`), target)
	}
}
