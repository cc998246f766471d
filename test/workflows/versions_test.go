package workflows

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// modules are the versions that a module file has of the modules that match a pattern.
func modules(g Gomega, path, pattern string) []string {
	found := names(regexp.MustCompile(`(?m)^(?:require )?\s*`+pattern+` (v\S+)`), read(g, path))
	g.Expect(found).NotTo(BeEmpty(), "%s requires nothing like %s", path, pattern)
	return found
}

// An update of one of them alone would test what is not delivered.
func TestVersionsThatBelongTogetherAreTheSame(t *testing.T) {
	for module, files := range map[string][]string{
		"github.com/operator-framework/operator-registry": {"hack/tools/opm.mod", "hack/devcluster/components/operator-registry/go.mod"},
		"github.com/operator-framework/operator-sdk":      {"hack/tools/operator-sdk.mod", "hack/devcluster/components/operator-sdk/go.mod"},
		"github.com/operator-framework/api":               {"go.mod", "workloads/go.mod"},
		"sigs.k8s.io/controller-runtime":                  {"go.mod", "workloads/go.mod"},
	} {
		t.Run(module, func(t *testing.T) {
			g := NewWithT(t)
			first := modules(g, files[0], regexp.QuoteMeta(module))
			g.Expect(first).To(HaveLen(1))
			for _, file := range files[1:] {
				g.Expect(modules(g, file, regexp.QuoteMeta(module))).To(Equal(first), "%s has another version than %s", file, files[0])
			}
		})
	}
}

func TestTheLibrariesAreOfTheKubernetesThatIsTested(t *testing.T) {
	g := NewWithT(t)
	kubernetes := modules(g, "hack/devcluster/components/kubernetes/go.mod", `k8s\.io/kubernetes`)
	g.Expect(kubernetes).To(HaveLen(1))
	// k8s.io/api v0.37.2 is of Kubernetes 1.37. Some libraries have no version but a commit's: v0.0.0-….
	var libraries []string
	for _, file := range []string{"go.mod", "workloads/go.mod"} {
		libraries = append(libraries, modules(g, file, `k8s\.io/[a-z-]+`)...)
	}
	libraries = regexp.MustCompile(`v0\.[1-9]\d*\.\d+`).FindAllString(strings.Join(libraries, " "), -1)
	g.Expect(len(libraries)).To(BeNumerically(">", 10))
	g.Expect(libraries).To(HaveEach(libraries[0]), "all of one version")
	minor := regexp.MustCompile(`^v\d+\.(\d+)\.`)
	tested := minor.FindStringSubmatch(kubernetes[0])[1]
	g.Expect(minor.FindStringSubmatch(libraries[0])[1]).To(Equal(tested))
	// What the validators of bundles are asked for.
	g.Expect(read(g, "hack/bundle-validate.sh")).To(ContainSubstring("\nreadonly kubernetes=1." + tested + "\n"))
	g.Expect(read(g, "test/bundle/validators_test.go")).To(ContainSubstring(`"k8s-version": "1.` + tested + `"`))
}

// A release that is out says what it was tested with.
func TestTheNextReleaseNamesWhatItIsTestedWith(t *testing.T) {
	g := NewWithT(t)
	if !strings.Contains(read(g, "CHANGELOG.md"), "] - unreleased\n") {
		t.Skip("nothing is to be released")
	}
	claimed := regexp.MustCompile(`(?m)^## \[.*\] - unreleased\n\n.* tested on (\S+), and with OLM (\S+) and (\S+)\.$`).FindStringSubmatch(read(g, "CHANGELOG.md"))
	g.Expect(claimed).To(HaveLen(4), "CHANGELOG.md does not say with what the next release is tested")
	g.Expect(modules(g, "hack/devcluster/components/kubernetes/go.mod", `k8s\.io/kubernetes`)).To(HaveExactElements("v" + claimed[1]))
	g.Expect(modules(g, "hack/devcluster/components/olm/go.mod", `github\.com/operator-framework/operator-lifecycle-manager`)).To(
		HaveExactElements(HavePrefix("v" + claimed[2] + ".")))
	g.Expect(modules(g, "hack/devcluster/components/operator-controller/go.mod", `github\.com/operator-framework/operator-controller`)).To(
		HaveExactElements(HavePrefix("v" + claimed[3] + ".")))
}

// Prometheus 3.13.1 is v0.313.1 as a module.
func TestTheDocumentsNameThePrometheusOperatorThatIsTested(t *testing.T) {
	g := NewWithT(t)
	const file = "hack/devcluster/components/prometheus-operator/go.mod"
	operator := modules(g, file, `github\.com/prometheus-operator/prometheus-operator`)
	prometheus := regexp.MustCompile(`^v0\.(\d)(\d\d)\.(\d+)$`).FindStringSubmatch(modules(g, file, `github\.com/prometheus/prometheus`)[0])
	g.Expect(prometheus).To(HaveLen(4))
	minor := strings.TrimPrefix(prometheus[2], "0")
	for _, page := range []string{"CHANGELOG.md", "docs/metrics.md"} {
		g.Expect(read(g, page)).To(MatchRegexp(`%s and %s`, regexp.QuoteMeta(strings.TrimPrefix(operator[0], "v")),
			regexp.QuoteMeta("Prometheus "+strings.Join([]string{prometheus[1], minor, prometheus[3]}, "."))), page)
	}
}

// docs/versions.md is what `make versions` wrote.
func TestTheReadmeSaysWhichVersionsOfKubernetesWereTested(t *testing.T) {
	g := NewWithT(t)
	var tested, second []string
	for _, row := range regexp.MustCompile(`(?m)^\| ((1\.\d+)\.\d+) \| [^|]+ \| ([^|]+) \|.*$`).FindAllStringSubmatch(read(g, "docs/versions.md"), -1) {
		g.Expect(row[0]).NotTo(ContainSubstring("failed"), "a version on which a test fails is not supported")
		module := "hack/devcluster/components/kubernetes"
		if slices.Contains(versionsBeside(g), row[2]) {
			module += "-" + row[2]
		}
		g.Expect(modules(g, module+"/go.mod", `k8s\.io/kubernetes`)).To(ConsistOf("v"+row[1]), "the row of %s is of another release", row[2])
		tested = append(tested, row[2])
		if row[3] != "-" {
			second = append(second, row[2])
		}
	}
	slices.Reverse(tested)
	slices.Reverse(second)
	g.Expect(read(g, "README.md")).To(ContainSubstring("\n| Kubernetes | [" + strings.Join(tested, ", ") + "](docs/versions.md) | others since 1.28 (second operator: 1.31) |\n"))
	// What a catalog shows is read where no README is.
	const bases = "config/manifests/bases/critical-service-"
	g.Expect(read(g, bases+"operator.clusterserviceversion.yaml")).To(ContainSubstring("Kubernetes 1.28 or later (tested on " + listed(tested) + "),"))
	g.Expect(read(g, "workloads/"+bases+"workloads.clusterserviceversion.yaml")).To(
		ContainSubstring("Kubernetes 1.31 or later (tested on " + listed(second) + "),"))
}

// listed are two or more words as a sentence lists them: "1.31, 1.34 and 1.37".
func listed(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

func TestTheCatalogSaysOnHowManyNodesItWasTested(t *testing.T) {
	g := NewWithT(t)
	nodes := regexp.MustCompile(`(?m)^\| Nodes \| (\w+) \|`).FindStringSubmatch(read(g, "README.md"))
	g.Expect(nodes).To(HaveLen(2), "README.md does not say on how many nodes it was tested")
	g.Expect(read(g, "config/manifests/bases/critical-service-operator.clusterserviceversion.yaml")).To(ContainSubstring("on up to " + nodes[1] + " nodes,"))
}
