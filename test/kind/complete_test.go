// Package kind_test holds every kind to be complete, and docs/adding-a-kind.md to lead there:
// a test adds a kind to a copy of the repository by the steps of that page.
package kind_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const root = "../.."

func read(g Gomega, name string) string {
	data, err := os.ReadFile(filepath.Join(root, name))
	g.Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// definitions are the CustomResourceDefinitions that `make manifests` generates.
func definitions(g Gomega) []apiextensionsv1.CustomResourceDefinition {
	files, err := filepath.Glob(filepath.Join(root, "config/crd/bases/*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty())
	var found []apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		data, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		var crd apiextensionsv1.CustomResourceDefinition
		g.Expect(yaml.UnmarshalStrict(data, &crd)).To(Succeed(), file)
		found = append(found, crd)
	}
	return found
}

func forEveryKind(t *testing.T, check func(g Gomega, crd *apiextensionsv1.CustomResourceDefinition)) {
	t.Helper()
	for _, crd := range definitions(NewWithT(t)) {
		t.Run(crd.Spec.Names.Kind, func(t *testing.T) { check(NewWithT(t), &crd) })
	}
}

func TestEveryKindIsKnownToOperatorSDK(t *testing.T) {
	type resource struct {
		Kind, Version string
		API           struct{ Namespaced bool }
	}
	var project struct{ Resources []resource }
	g := NewWithT(t)
	g.Expect(yaml.Unmarshal([]byte(read(g, "PROJECT")), &project)).To(Succeed())
	var wanted []resource
	for _, crd := range definitions(g) {
		for _, version := range crd.Spec.Versions {
			wanted = append(wanted, resource{
				Kind: crd.Spec.Names.Kind, Version: version.Name,
				API: struct{ Namespaced bool }{crd.Spec.Scope == apiextensionsv1.NamespaceScoped},
			})
		}
	}
	g.Expect(project.Resources).To(ConsistOf(wanted), "the resources of PROJECT")
}

func TestEveryKindIsInstalledAndHasSamples(t *testing.T) {
	forEveryKind(t, func(g Gomega, crd *apiextensionsv1.CustomResourceDefinition) {
		g.Expect(read(g, "config/crd/kustomization.yaml")).To(ContainSubstring("\n- bases/mycrd.com_" + crd.Spec.Names.Plural + ".yaml\n"))
		for _, version := range crd.Spec.Versions {
			sample := "mycrd.com_" + version.Name + "_" + crd.Spec.Names.Singular
			g.Expect(read(g, "config/samples/kustomization.yaml")).To(MatchRegexp(`\n- `+sample+`[a-z_]*\.yaml\n`), "no sample")
		}
	})
}

// verbs are what a role of config/rbac may do with each resource of the operator's group.
func verbs(g Gomega, file string) map[string][]string {
	g.Expect(read(g, "config/rbac/kustomization.yaml")).To(ContainSubstring("\n- " + filepath.Base(file) + "\n"))
	var role rbacv1.ClusterRole
	g.Expect(yaml.UnmarshalStrict([]byte(read(g, file)), &role)).To(Succeed())
	found := map[string][]string{}
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			if slices.Contains(rule.APIGroups, "mycrd.com") {
				found[resource] = append(found[resource], rule.Verbs...)
			}
		}
	}
	return found
}

func TestEveryKindHasRoles(t *testing.T) {
	forEveryKind(t, func(g Gomega, crd *apiextensionsv1.CustomResourceDefinition) {
		plural := crd.Spec.Names.Plural
		for _, role := range []string{"viewer", "editor"} {
			of := verbs(g, "config/rbac/"+crd.Spec.Names.Singular+"_"+role+"_role.yaml")
			g.Expect(slices.Collect(maps.Keys(of))).To(ConsistOf(plural, plural+"/status"))
			g.Expect(of[plural+"/status"]).To(HaveEach(BeElementOf("get", "list", "watch")), "only the operator writes the status: what is owed stands there")
		}
		operator, _, _ := strings.Cut(read(g, "config/rbac/role.yaml"), "\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n")
		for _, resource := range []string{plural, plural + "/status"} {
			g.Expect(operator).To(ContainSubstring("\n  - "+resource+"\n"), "the operator may not use it: is there an RBAC marker?")
		}
		// Scorecard creates all samples, by dry run.
		g.Expect(read(g, "config/scorecard/rbac.yaml")).To(MatchRegexp(`resources: \[[a-z, ]*\b` + plural + `\b`))
	})
}

// Who uninstalls must find every kind, and doctor must miss its definition.
func TestEveryKindIsUninstalledAndLookedFor(t *testing.T) {
	forEveryKind(t, func(g Gomega, crd *apiextensionsv1.CustomResourceDefinition) {
		names := strings.Join(append(slices.Clone(crd.Spec.Names.ShortNames), crd.Spec.Names.Plural), "|")
		for _, page := range []string{"docs/install.md", "config/chart/critical-service-operator/templates/NOTES.txt"} {
			g.Expect(read(g, page)).To(MatchRegexp(`(?m)^ *kubectl delete (`+names+`) (-A )?--all$`), page)
			g.Expect(read(g, page)).To(MatchRegexp(`(?m)^ *kubectl delete crd .*\b`+regexp.QuoteMeta(crd.Name)+`\b`), page)
		}
		files, err := filepath.Glob(filepath.Join(root, "cmd/kubectl-critsvc/internal/doctor/*.go"))
		g.Expect(err).NotTo(HaveOccurred())
		var doctor strings.Builder
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				doctor.WriteString(read(g, strings.TrimPrefix(file, root+"/")))
			}
		}
		if crd.Spec.Names.Kind != "CriticalService" { // By another way: it is read to see its webhook.
			g.Expect(doctor.String()).To(ContainSubstring(`"` + crd.Name + `"`))
		}
	})
}

// described are the fields below a schema that are ours, by their paths, with their descriptions.
func described(schema *apiextensionsv1.JSONSchemaProps, path string, into map[string]string) {
	for name, field := range schema.Properties {
		into[path+"."+name] = field.Description
		// A condition and a selector are types of Kubernetes.
		if name != "conditions" && !strings.HasSuffix(name, "Selector") {
			described(&field, path+"."+name, into)
			if field.Items != nil {
				described(field.Items.Schema, path+"."+name, into)
			}
		}
	}
}

// What a kind shares with CriticalServices is explained on their page.
func TestEveryFieldOfEveryKindIsInItsSpecification(t *testing.T) {
	shared := map[string]string{}
	fields := func(crd *apiextensionsv1.CustomResourceDefinition) map[string]string {
		found := map[string]string{}
		for _, version := range crd.Spec.Versions {
			for _, part := range []string{"spec", "status"} {
				schema := version.Schema.OpenAPIV3Schema.Properties[part]
				described(&schema, part, found)
			}
		}
		return found
	}
	for _, crd := range definitions(NewWithT(t)) {
		if crd.Spec.Names.Kind == "CriticalService" {
			shared = fields(&crd)
		}
	}
	forEveryKind(t, func(g Gomega, crd *apiextensionsv1.CustomResourceDefinition) {
		page := "docs/spec/" + crd.Spec.Names.Singular + ".md"
		found := fields(crd)
		g.Expect(len(found)).To(BeNumerically(">", 3))
		text := read(g, page)
		for path, description := range found {
			if crd.Spec.Names.Kind != "CriticalService" && shared[path] == description {
				continue
			}
			name := path[strings.LastIndex(path, ".")+1:]
			isExplained := regexp.MustCompile("`[^`\n]*\\b" + name + "\\b[^`\n]*`").MatchString(text)
			g.Expect(isExplained).To(BeTrue(), "%s does not explain %s", page, path)
		}
	})
}
