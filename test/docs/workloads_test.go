package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/test/document"
)

const workloadsPage = "docs/workloads.md"

// The settings of the second operator are its own, and those of every manager.
func TestTheSettingsOfTheWorkloadsAreDocumented(t *testing.T) {
	g := NewWithT(t)
	page := read(g, workloadsPage)
	list := read(g, "workloads/internal/settings/settings.go") + read(g, "workloads/internal/settings/ingress.go")
	own := regexp.MustCompile(`Flag: "([^"]+)", Variable: "([^"]+)",(?: Preset: "([^"]+)")?`).FindAllStringSubmatch(list, -1)
	g.Expect(len(own)).To(BeNumerically(">=", 6))
	for _, setting := range own {
		preset := "empty"
		if setting[3] != "" {
			preset = "`" + setting[3] + "`"
		}
		g.Expect(page).To(ContainSubstring("| `" + setting[2] + "` | `--" + setting[1] + "` | " + preset + " |"))
	}
	shared := regexp.MustCompile(`Variable: "([^"]+)"`).FindAllStringSubmatch(read(g, "internal/operator/setting/manager.go"), -1)
	g.Expect(len(shared)).To(BeNumerically(">", 10))
	for _, setting := range shared {
		g.Expect(page).To(ContainSubstring("`"+setting[1]+"`"), "%s does not name a setting of every manager", workloadsPage)
	}
}

// With OLM it is installed as the first operator is, under its own names.
func TestTheObjectsOfTheWorkloadsForOLMAreThoseOfTheOperator(t *testing.T) {
	g := NewWithT(t)
	subscription := func(page, section string) string {
		block, err := document.Block(filepath.Join(root, page), section, "yaml", "kind: Subscription")
		g.Expect(err).NotTo(HaveOccurred())
		return block
	}
	want, settings, _ := strings.Cut(subscription(installPage, "OLM"), "  config:\n")
	g.Expect(settings).NotTo(ContainSubstring("---"), "settings come last")
	names := strings.NewReplacer("critical-service-system", "critical-service-workloads-system", "critical-service-operator", "critical-service-workloads")
	g.Expect(subscription(workloadsPage, "Install")).To(Equal(names.Replace(want)))
	g.Expect(read(g, "workloads/bundle/metadata/annotations.yaml")).To(ContainSubstring("package.v1: critical-service-workloads\n"))
}

// What the page says of permissions holds in the role that is generated.
func TestThePermissionsOfTheWorkloadsAreThoseOfTheirRole(t *testing.T) {
	g := NewWithT(t)
	verbs := map[string][]string{}
	for document := range strings.SplitSeq(read(g, "workloads/config/rbac/role.yaml"), "---\n") {
		var role rbacv1.ClusterRole
		g.Expect(yaml.UnmarshalStrict([]byte(document), &role)).To(Succeed())
		if role.Name != "critical-service-workloads-namespaces" {
			continue
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				verbs[resource] = append(verbs[resource], rule.Verbs...)
			}
		}
	}
	page := read(g, workloadsPage)
	for says, granted := range map[string]struct {
		resource string
		verbs    []string
	}{
		"create and change claims, and never delete one":                   {"persistentvolumeclaims", []string{"create", "get", "list", "patch", "watch"}},
		"create and change Secrets, and get any of them by name":           {"secrets", []string{"create", "get", "patch"}},
		"create and change Deployments and StatefulSets":                   {"deployments", []string{"create", "get", "list", "patch", "watch"}},
		"Deployments and StatefulSets: of those that are not its own":      {"statefulsets", []string{"create", "get", "list", "patch", "watch"}},
		"write ServiceFallbacks, which it makes for Databases and WebApps": {"servicefallbacks", []string{"create", "delete", "get", "list", "patch", "watch"}},
		"and Databases, which it makes for WebApps":                        {"databases", []string{"create", "get", "list", "patch", "watch"}},
		"write Pods, Services, ConfigMaps and PodDisruptionBudgets":        {"services", []string{"create", "get", "list", "patch", "watch"}},
		"read HorizontalPodAutoscalers":                                    {"horizontalpodautoscalers", []string{"list", "watch"}},
	} {
		g.Expect(page).To(ContainSubstring(says))
		g.Expect(verbs[granted.resource]).To(ConsistOf(granted.verbs), says)
	}
}
