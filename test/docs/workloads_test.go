package docs_test

import (
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
)

const workloadsPage = "docs/workloads.md"

// The settings of the second operator are its own, and those of every manager.
func TestTheSettingsOfTheWorkloadsAreDocumented(t *testing.T) {
	g := NewWithT(t)
	page := read(g, workloadsPage)
	own := regexp.MustCompile(`Flag: "([^"]+)", Variable: "([^"]+)", Preset: "([^"]+)"`).FindAllStringSubmatch(read(g, "workloads/internal/settings/settings.go"), -1)
	g.Expect(len(own)).To(BeNumerically(">=", 3))
	for _, setting := range own {
		g.Expect(page).To(ContainSubstring("| `" + setting[2] + "` | `--" + setting[1] + "` | `" + setting[3] + "` |"))
	}
	shared := regexp.MustCompile(`Variable: "([^"]+)"`).FindAllStringSubmatch(read(g, "internal/operator/setting/manager.go"), -1)
	g.Expect(len(shared)).To(BeNumerically(">", 10))
	for _, setting := range shared {
		g.Expect(page).To(ContainSubstring("`"+setting[1]+"`"), "%s does not name a setting of every manager", workloadsPage)
	}
}

// What the page says of permissions holds in the role that is generated.
func TestThePermissionsOfTheWorkloadsAreThoseOfTheirRole(t *testing.T) {
	g := NewWithT(t)
	verbs := map[string]string{}
	for _, rule := range regexp.MustCompile(`(?s)  resources:\n(.*?)  verbs:\n((?:  - \w+\n)+)`).FindAllStringSubmatch(read(g, "workloads/config/rbac/role.yaml"), -1) {
		for _, resource := range regexp.MustCompile(`  - (\S+)\n`).FindAllStringSubmatch(rule[1], -1) {
			if _, known := verbs[resource[1]]; !known { // The Role of its own namespace comes after.
				verbs[resource[1]] = rule[2]
			}
		}
	}
	page := read(g, workloadsPage)
	for says, never := range map[string]struct{ resource, pattern string }{
		"create and change claims, and never delete one":                    {"persistentvolumeclaims", "delete|update"},
		"It can neither list nor change them":                               {"secrets", "list|watch|patch|update|delete"},
		"it writes the `envFrom` of those with the label, and nothing else": {"deployments", "create|update|delete"},
	} {
		g.Expect(page).To(ContainSubstring(says))
		g.Expect(verbs).To(HaveKey(never.resource))
		g.Expect(verbs[never.resource]).NotTo(MatchRegexp(`- (` + never.pattern + `)\n`))
	}
}
