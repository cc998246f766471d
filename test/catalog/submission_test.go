package catalog_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/test/internal/registry"
)

const root = "../.."

// settingsSchema is what the community's pipeline accepts as ci.yaml of an operator with a file-based catalog, by the
// schema and the pages of redhat-openshift-ecosystem/operator-pipelines. The pipeline overlooks what it does not know at
// the top; here that is a mistake.
const settingsSchema = `
type: object
additionalProperties: false
required: [updateGraph, fbc]
properties:
  updateGraph: {type: string, enum: [replaces-mode, semver-mode]}
  addReviewers: {type: boolean}
  reviewers: {type: array, minItems: 1, items: {type: string, pattern: "^[A-Za-z0-9-]+$"}}
  fbc:
    type: object
    additionalProperties: false
    required: [enabled, catalog_mapping]
    properties:
      enabled: {type: boolean, enum: [true]}
      version_promotion_strategy: {type: string, enum: [never, always, review-needed]}
      catalog_mapping:
        type: array
        minItems: 1
        items:
          type: object
          required: [template_name, catalog_names, type]
          properties:
            template_name: {type: string}
            # The one catalog of operatorhub.io.
            catalog_names: {type: array, minItems: 1, uniqueItems: true, items: {type: string, enum: [latest]}}
            type: {type: string, enum: [olm.template.basic, olm.semver]}
`

// settingsFaults are what the schema says against a ci.yaml.
func settingsFaults(g Gomega, text string) []string {
	var read apiextensionsv1.JSONSchemaProps
	g.Expect(yaml.UnmarshalStrict([]byte(settingsSchema), &read)).To(Succeed())
	var props apiextensions.JSONSchemaProps
	g.Expect(apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&read, &props, nil)).To(Succeed())
	schema, _, err := validation.NewSchemaValidator(&props)
	g.Expect(err).NotTo(HaveOccurred())
	var settings any
	g.Expect(yaml.Unmarshal([]byte(text), &settings)).To(Succeed())
	var said []string
	for _, fault := range validation.ValidateCustomResource(nil, settings, schema) {
		said = append(said, fault.Error())
	}
	return said
}

// submission is what is submitted of a project.
type submission struct{ folder, name, image string }

var submissions = map[string]submission{
	"the operator":  {".", packageName, "critical-service/operator-bundle"},
	"the workloads": {"workloads", "critical-service-workloads", "critical-service/workloads-bundle"},
}

// runSubmission runs hack/submission.sh, and returns the folder that it writes into, and what it said.
func runSubmission(t *testing.T, arguments ...string) (output, said string, err error) {
	t.Helper()
	output = t.TempDir()
	command := exec.CommandContext(t.Context(), filepath.Join(root, "hack/submission.sh"), append(arguments, "--output", output)...)
	text, err := command.CombinedOutput()
	return output, string(text), err
}

// submit writes what is submitted of a project as it is in the repository, and returns the folder of the package.
func submit(t *testing.T, s submission) string {
	t.Helper()
	output, said, err := runSubmission(t, "--project", s.folder, "--bundle", s.folder+"/bundle", "--catalog", "catalog", "--reviewers", "one,two-three")
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), said)
	return filepath.Join(output, "operators", s.name)
}

// content is that of a file.
func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(data)
}

func TestASubmissionIsTheTreeOfTheCommunity(t *testing.T) {
	for sentence, s := range submissions {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			folder := submit(t, s)
			var top []string
			for _, pattern := range []string{"*", "catalog-templates/*", "1.0.0/*"} {
				found, err := fs.Glob(os.DirFS(folder), pattern)
				g.Expect(err).NotTo(HaveOccurred())
				top = append(top, found...)
			}
			g.Expect(top).To(ConsistOf("1.0.0", "catalog-templates", "ci.yaml", "catalog-templates/basic.yaml",
				"1.0.0/manifests", "1.0.0/metadata", "1.0.0/tests"))
			difference, err := exec.CommandContext(t.Context(), "diff", "--recursive", filepath.Join(root, s.folder, "bundle"), filepath.Join(folder, "1.0.0")).CombinedOutput()
			g.Expect(err).NotTo(HaveOccurred(), string(difference))
			g.Expect(content(t, filepath.Join(folder, "ci.yaml"))).To(And(
				ContainSubstring("template_name: basic.yaml\n"), HaveSuffix("reviewers:\n- one\n- two-three\n")))
		})
	}
}

func TestThePipelineAcceptsTheSettings(t *testing.T) {
	settings := content(t, filepath.Join(submit(t, submissions["the operator"]), "ci.yaml"))
	for sentence, c := range map[string]struct{ old, changed, said string }{
		"as they are":                    {"", "", ""},
		"not without a reviewer":         {"reviewers:\n- one\n- two-three\n", "reviewers: []\n", "reviewers in body should have at least 1 items"},
		"not with an unknown graph":      {"replaces-mode", "skips-mode", "updateGraph: Unsupported value"},
		"not with a misspelled word":     {"fbc:", "fcb:", "fbc: Required value"},
		"not without a catalog":          {"[latest]", "[]", "catalog_names in body should have at least 1 items"},
		"not for a catalog of OpenShift": {"[latest]", "[v4.22]", "catalog_names[0]: Unsupported value"},
		"not with an unknown template":   {"olm.template.basic", "olm.composite", "type: Unsupported value"},
		"not without a template":         {"template_name: ", "template: ", "template_name: Required value"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(settings).To(ContainSubstring(c.old))
			faults := settingsFaults(g, strings.Replace(settings, c.old, c.changed, 1))
			if c.said == "" {
				g.Expect(faults).To(BeEmpty())
			} else {
				g.Expect(faults).To(ContainElement(ContainSubstring(c.said)))
			}
		})
	}
}

// The template has of bundles only their images, so that opm asks a registry for what is in them. It has the names of the
// project: they are looked up on the loopback interface. This test needs crane and opm in bin/tools: `make test` builds them.
func TestTheTemplateOfASubmissionRendersToTheCatalog(t *testing.T) {
	address := registry.Serve(t, root)
	home := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(home, ".config/containers", name)
		NewWithT(t).Expect(os.MkdirAll(filepath.Dir(path), 0o700)).To(Succeed())
		NewWithT(t).Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
	}
	write("registries.conf", "[[registry]]\nprefix = \"quay.io\"\nlocation = \""+address+"\"\ninsecure = true\n")
	// Without one, which a machine without container tools has not, opm pulls nothing.
	write("policy.json", `{"default": [{"type": "insecureAcceptAnything"}]}`)
	for sentence, s := range submissions {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			pushBundle(t, s, address+"/"+s.image+":v1.0.0")
			opm := func(arguments ...string) string {
				command := exec.CommandContext(t.Context(), filepath.Join(root, "bin/tools/opm"), append(arguments, "--output", "yaml")...)
				command.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"))
				var said bytes.Buffer
				command.Stderr = &said
				rendered, err := command.Output()
				g.Expect(err).NotTo(HaveOccurred(), said.String())
				return string(rendered)
			}
			rendered := opm("alpha", "render-template", "basic", filepath.Join(submit(t, s), "catalog-templates/basic.yaml"),
				"--use-http", "--migrate-level", "bundle-object-to-csv-metadata")
			g.Expect(rendered).To(ContainSubstring("\nimage: quay.io/" + s.image + ":v1.0.0\n"))
			g.Expect(rendered).To(Equal(opm("render", filepath.Join(folder, s.name))))
		})
	}
}

// pushBundle pushes the bundle of a project, with the labels of its Dockerfile.
func pushBundle(t *testing.T, s submission, image string) {
	t.Helper()
	g := NewWithT(t)
	labels := regexp.MustCompile(`(?m)^LABEL (.*)$`).FindAllStringSubmatch(content(t, filepath.Join(root, s.folder, "bundle.Dockerfile")), -1)
	g.Expect(labels).NotTo(BeEmpty())
	mutate := []string{registry.Crane(root), "mutate", image, "--tag", image}
	for _, label := range labels {
		mutate = append(mutate, "--label", label[1])
	}
	layer := filepath.Join(t.TempDir(), "bundle.tar")
	for _, arguments := range [][]string{
		{"tar", "--create", "--file=" + layer, "--directory=" + filepath.Join(root, s.folder, "bundle"), "manifests", "metadata", "tests"},
		{registry.Crane(root), "append", "--new_layer", layer, "--new_tag", image},
		mutate,
	} {
		said, err := exec.CommandContext(t.Context(), arguments[0], arguments[1:]...).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(said))
	}
}

func TestTheImageOfASubmissionIsThatOfTheCatalogOrOfThePipeline(t *testing.T) {
	const pipelines = "quay.io/operatorhubio/critical-service-operator:v1.0.0"
	for sentence, c := range map[string]struct {
		arguments []string
		image     string
	}{
		"the catalog's, by digest":            {nil, "quay.io/critical-service/operator-bundle@sha256:0123"},
		"the one that the pipeline has built": {[]string{"--bundle-image", pipelines}, pipelines},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			catalog := t.TempDir()
			g.Expect(os.CopyFS(catalog, os.DirFS(folder))).To(Succeed())
			g.Expect(os.WriteFile(filepath.Join(catalog, packageName, "bundles/v1.0.0.yaml"), []byte("image: quay.io/critical-service/operator-bundle@sha256:0123\n"), 0o600)).To(Succeed())
			output, said, err := runSubmission(t, append(c.arguments, "--bundle", "bundle", "--catalog", catalog)...)
			g.Expect(err).NotTo(HaveOccurred(), said)
			g.Expect(said).To(ContainSubstring("It names images by tag: submit what 'make release' has made"))
			g.Expect(content(t, filepath.Join(output, "operators", packageName, "catalog-templates/basic.yaml"))).To(
				HaveSuffix("- schema: olm.bundle\n  image: " + c.image + "\n"))
		})
	}
}

func TestASubmissionOfAVersionThatTheCatalogLacksIsRefused(t *testing.T) {
	g := NewWithT(t)
	output, said, err := runSubmission(t, "--bundle", "bundle", "--catalog", t.TempDir())
	g.Expect(err).To(HaveOccurred())
	g.Expect(said).To(MatchRegexp("^There is no submission: \\S+/critical-service-operator has no v1.0.0, which bundle is. Run 'make catalog'"))
	g.Expect(filepath.Join(output, "operators")).NotTo(BeADirectory())
}
