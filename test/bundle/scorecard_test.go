package bundle

import (
	"regexp"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
)

// builtIn are the tests of Operator SDK, which every bundle is held against.
var builtIn = []string{
	"basic-check-spec", "olm-bundle-validation", "olm-crds-have-validation", "olm-crds-have-resources", "olm-spec-descriptors", "olm-status-descriptors",
}

// Which tests of this project there are is held against their program, in its own test.
func TestScorecardRunsEveryTest(t *testing.T) {
	for project, repository := range map[string]string{"": "operator", sibling: "workloads"} {
		t.Run(repository, func(t *testing.T) {
			g := NewWithT(t)
			sdk := regexp.MustCompile(`operator-framework/operator-sdk (v\S+)`).FindStringSubmatch(read(g, "hack/tools/operator-sdk.mod"))
			g.Expect(sdk).To(HaveLen(2))
			custom := "quay.io/critical-service/" + repository + "-scorecard:v" + csv(g).Spec.Version.String()

			images := map[string]string{}
			config := document[v1alpha3.Configuration](g, project+"bundle/tests/scorecard/config.yaml", "Configuration")
			for _, stage := range config.Stages {
				for _, test := range stage.Tests {
					g.Expect(test.Entrypoint).To(HaveLen(2))
					name := test.Entrypoint[1]
					g.Expect(images).NotTo(HaveKey(name))
					images[name] = test.Image
					if !slices.Contains(builtIn, name) {
						g.Expect(test.Labels).To(HaveKeyWithValue("suite", "custom"), name)
						g.Expect(test.Image).To(Equal(custom), name)
						g.Expect(test.Storage.Spec.MountPath.Path).To(Equal("/test-output"), "%s keeps no evidence", name)
					}
				}
			}
			for _, name := range builtIn {
				g.Expect(images).To(HaveKeyWithValue(name, "quay.io/operator-framework/scorecard-test:"+sdk[1]))
			}
			g.Expect(len(images)).To(BeNumerically(">", len(builtIn)), "it has tests of this project")
		})
	}
}
