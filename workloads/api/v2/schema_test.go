package v2_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/internal/operator/webhook/crdschema"
)

func definition(g Gomega) []byte {
	data, err := os.ReadFile("../../config/crd/bases/mycrd.com_appconfigs.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	return data
}

// The API server refuses a definition whose rules may cost too much.
func TestTheDefinitionIsOneThatTheAPIServerTakes(t *testing.T) {
	g := NewWithT(t)
	var read apiextensionsv1.CustomResourceDefinition
	g.Expect(yaml.UnmarshalStrict(definition(g), &read)).To(Succeed())
	read.Status.StoredVersions = []string{"v2"}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&read)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&read.Spec)
	var internal apiextensions.CustomResourceDefinition
	g.Expect(apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&read, &internal, nil)).To(Succeed())
	g.Expect(validation.ValidateCustomResourceDefinition(t.Context(), &internal)).To(BeEmpty())
	for _, version := range read.Spec.Versions {
		g.Expect(version.Served).To(BeTrue())
		g.Expect(version.Storage).To(Equal(version.Name == "v2"), "v2 is the one that is stored")
	}
}

// validate reads a file, and says what the schema of its version has against it.
func validate(g Gomega, file string) field.ErrorList {
	data, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	var object map[string]any
	g.Expect(yaml.Unmarshal(data, &object)).To(Succeed())
	return validateObject(g, object)
}

func validateObject(g Gomega, object map[string]any) field.ErrorList {
	schema, err := crdschema.Compile(definition(g), strings.TrimPrefix(object["apiVersion"].(string), "mycrd.com/"))
	g.Expect(err).NotTo(HaveOccurred())
	return schema.ValidateObject(object)
}

func filesIn(t *testing.T, pattern string) []string {
	files, err := filepath.Glob(pattern)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(files).NotTo(BeEmpty())
	return files
}

func TestValidFilesAreAccepted(t *testing.T) {
	for _, file := range filesIn(t, "testdata/*/valid/*.yaml") {
		t.Run(file, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(validate(g, file)).To(BeEmpty())
		})
	}
}

// Every invalid file says in its first line which message must come: a file that is refused
// for another reason tests nothing.
func TestInvalidFilesAreRefusedForTheReasonTheyName(t *testing.T) {
	for _, file := range filesIn(t, "testdata/*/invalid/*.yaml") {
		t.Run(file, func(t *testing.T) {
			g := NewWithT(t)
			data, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			line, _, _ := strings.Cut(string(data), "\n")
			want, found := strings.CutPrefix(line, "# want: ")
			g.Expect(found).To(BeTrue())
			g.Expect(validate(g, file).ToAggregate()).To(MatchError(ContainSubstring(want)))
		})
	}
}

// The bound is in characters, which may take 4 bytes each: a ConfigMap takes 1 MiB.
func TestHowMuchAnAppConfigHolds(t *testing.T) {
	for sentence, test := range map[string]struct {
		settings map[string]any
		fits     bool
	}{
		"a page of 256 KiB less its key":          {map[string]any{"index.html": strings.Repeat("x", 262144-10)}, true},
		"a character more":                        {map[string]any{"index.html": strings.Repeat("x", 262144-9)}, false},
		"as many characters of 4 bytes":           {map[string]any{"index.html": strings.Repeat("😀", 262144-10)}, true},
		"several that are too much only together": {map[string]any{"a": strings.Repeat("x", 200000), "b": strings.Repeat("x", 62143)}, false},
		"several that are as much as is allowed":  {map[string]any{"a": strings.Repeat("x", 200000), "b": strings.Repeat("x", 62142)}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			for version, spec := range map[string]map[string]any{
				"v1": {"appName": "shop", "config": test.settings},
				"v2": {"appName": "shop", "configuration": map[string]any{"settings": test.settings}},
			} {
				errs := validateObject(g, map[string]any{
					"apiVersion": "mycrd.com/" + version, "kind": "AppConfig", "metadata": map[string]any{"name": "shop"}, "spec": spec,
				})
				if test.fits {
					g.Expect(errs).To(BeEmpty())
				} else {
					g.Expect(errs.ToAggregate()).To(MatchError(ContainSubstring("keys and values must have at most 262144 characters (256 KiB) in all")))
				}
			}
		})
	}
}
