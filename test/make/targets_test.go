package make_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// The sibling has the same verbs, for its own names and folders.
func TestTheWorkloadsHaveTheSameTargets(t *testing.T) {
	for target, says := range map[string]string{
		"all": "-o ../bin/workloads/manager .", "build": "-o ../bin/workloads/manager .", "run": "POD_NAMESPACE=critical-service-workloads-system",
		"generate": "paths=./api/...", "manifests": "rbac:roleName=critical-service-workloads ", "chart": "-project workloads ",
		"fmt": "golangci-lint fmt", "vet": "go -C . vet -tags e2e ./...", "lint": "golangci-lint run", "lint-fix": "golangci-lint run --fix",
		"verify": "../hack/verify.sh", "vuln": "../hack/vuln.sh", "test": "../hack/gotest.sh workloads ./...", "e2e": "--directory=../ e2e-workloads",
		"binaries": "-o ../bin/workloads/linux-", "docker-build": "--tag quay.io/critical-service/workloads:v1.0.0 ", "docker-push": "push quay.io/critical-service/workloads:v1.0.0",
		"bundle":          "../hack/bundle.sh --project workloads --version 1.0.0 --image quay.io/critical-service/workloads:v1.0.0 ",
		"bundle-validate": "../hack/bundle-validate.sh workloads/bundle", "bundle-build": "--tag quay.io/critical-service/workloads-bundle:v1.0.0 .",
		"bundle-push": "push quay.io/critical-service/workloads-bundle:v1.0.0", "catalog": "../hack/catalog.sh --project workloads ",
		"install": "kustomize build config/crd", "uninstall": "kustomize build config/crd",
		"deploy": "../hack/render.sh quay.io/critical-service/workloads:v1.0.0 workloads ", "undeploy": "../hack/render.sh quay.io/critical-service/workloads:v1.0.0 workloads ",
		"api-docs": "--output-path=../docs/reference/workloads-api.md", "scorecard": "../hack/scorecard.sh --project workloads",
		"scorecard-binary": "-o ../bin/workloads/linux-amd64/scorecard ./test/scorecard",
		"scorecard-build":  "--tag quay.io/critical-service/workloads-scorecard:v1.0.0 ",
		"build-installer":  "> ../dist/install-workloads.yaml", "submission": "../hack/submission.sh --project workloads", "chart-package": "../hack/chart.sh 1.0.0 workloads", "help": "awk",
	} {
		t.Run(target, func(t *testing.T) {
			g := NewWithT(t)
			said, err := planned(t, "--directory=workloads", "ARCH=amd64", target)
			g.Expect(err).NotTo(HaveOccurred(), said)
			g.Expect(said).To(ContainSubstring(says))
		})
	}
}

func TestEveryScriptIsLinted(t *testing.T) {
	g := NewWithT(t)
	said, err := planned(t, "lint-scripts")
	g.Expect(err).NotTo(HaveOccurred(), said)
	linted := strings.Fields(strings.NewReplacer(" ./", " ", ";", " ").Replace(said))
	scripts := 0
	g.Expect(fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && slices.Contains([]string{".git", "bin", "dist"}, name) {
			return fs.SkipDir
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(root, name))
		if first, _, _ := strings.Cut(string(content), "\n"); regexp.MustCompile(`^#!.*\b(ba)?sh$`).MatchString(first) {
			g.Expect(linted).To(ContainElement(name))
			scripts++
		}
		return err
	})).To(Succeed())
	g.Expect(scripts).To(BeNumerically(">", 20))
}

func TestLintChecksScriptsAndWorkflows(t *testing.T) {
	g := NewWithT(t)
	said, err := planned(t, "lint")
	g.Expect(err).NotTo(HaveOccurred(), said)
	g.Expect(said).To(ContainSubstring("for target in lint-scripts; do check make"))
	said, err = planned(t, "lint-scripts")
	g.Expect(err).NotTo(HaveOccurred(), said)
	g.Expect(said).To(MatchRegexp(`(?m)check \S+/bin/tools/actionlint; `))
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
