package chart_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// composed is what kustomize builds of an operator's config/default with components, as their comments say.
func composed(t *testing.T, p project, components ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	folder := t.TempDir()
	config, err := filepath.Abs(root)
	g.Expect(err).NotTo(HaveOccurred())
	config, err = filepath.Rel(folder, config) // Kustomize takes relative folders only.
	g.Expect(err).NotTo(HaveOccurred())
	kustomization := "resources:\n- " + filepath.Join(config, p.folder, "config/default") + "\ncomponents:\n"
	for _, component := range components {
		kustomization += "- " + config + "/config/components/" + component + "\n"
	}
	g.Expect(os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(kustomization), 0o600)).To(Succeed())
	output, err := tool(t, "kustomize", "build", folder)
	g.Expect(err).NotTo(HaveOccurred())
	return objects(t, output)
}

// spread is the value topologySpreadConstraints of the chart for nodes and zones. What is a must leaves out nodes that
// take no Pod.
func spread(t *testing.T, p project, unsatisfiable ...string) string {
	t.Helper()
	g := NewWithT(t)
	var values struct {
		TopologySpreadConstraints []map[string]any
	}
	g.Expect(yaml.Unmarshal([]byte(p.file(t, "values.yaml")), &values)).To(Succeed())
	g.Expect(values.TopologySpreadConstraints).To(HaveLen(len(unsatisfiable)))
	for i, constraint := range values.TopologySpreadConstraints {
		constraint["whenUnsatisfiable"] = unsatisfiable[i]
		if unsatisfiable[i] == "DoNotSchedule" {
			constraint["nodeTaintsPolicy"] = "Honor"
		}
	}
	data, err := json.Marshal(values.TopologySpreadConstraints)
	g.Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// componentsThere are the components of config/components.
func componentsThere(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, "config/components"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// The namespace is not in the chart, so that it is not compared with it.
func TestOnOpenShiftTheNamespaceKeepsItsPodSecurity(t *testing.T) {
	forEachProject(t, func(t *testing.T, p project) {
		g := NewWithT(t)
		home := composed(t, p, "openshift")["Namespace "+p.namespace]
		g.Expect(home.GetLabels()).To(And(
			HaveKeyWithValue("security.openshift.io/scc.podSecurityLabelSync", "false"), HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted")))
		g.Expect(home.GetAnnotations()).To(Equal(map[string]string{"openshift.io/node-selector": ""}))
	})
}

func TestTheInstallPageNamesEveryComponent(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join(root, "docs/install.md"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, name := range componentsThere(t) {
		g.Expect(strings.Count(string(page), "\n| [`"+name+"`](../config/components/"+name+"/kustomization.yaml) |")).To(Equal(1), name)
	}
}

func TestWithCertManagerTheOperatorHasNoRightToCertificates(t *testing.T) {
	for i, folder := range []string{"config/certmanager", "workloads/config/certmanager"} {
		p := projects[i]
		for sentence, objects := range map[string]map[string]*unstructured.Unstructured{
			"by kustomize": built(t, folder), "by Helm": p.rendered(t, `certificates="cert-manager"`),
		} {
			t.Run(p.name+" "+sentence, func(t *testing.T) {
				g := NewWithT(t)
				for name, object := range objects {
					g.Expect(name).NotTo(HaveSuffix("-certificates"))
					rules, _, err := unstructured.NestedSlice(object.Object, "rules")
					g.Expect(err).NotTo(HaveOccurred())
					for _, rule := range rules {
						if strings.HasPrefix(object.GetKind(), "Role") {
							g.Expect(rule).To(HaveKeyWithValue("resources", Not(ContainElement("secrets"))), name)
						}
						if strings.Contains(object.GetKind(), "Role") {
							g.Expect(rule).NotTo(HaveKeyWithValue("resources", ContainElement("validatingwebhookconfigurations")), name)
							g.Expect(rule).NotTo(And(HaveKeyWithValue("resources", ContainElement("customresourcedefinitions")), HaveKeyWithValue("verbs", ContainElement("patch"))), name)
						}
					}
				}
			})
		}
		NewWithT(t).Expect(p.rendered(t)).To(HaveKey("Role "+p.name+"-certificates"), "self-made ones need it")
	}
}
