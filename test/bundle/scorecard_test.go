package bundle

import (
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
)

func TestScorecardRunsEveryTest(t *testing.T) {
	g := NewWithT(t)
	sdk := regexp.MustCompile(`operator-framework/operator-sdk (v\S+)`).FindStringSubmatch(read(g, "hack/tools/operator-sdk.mod"))
	g.Expect(sdk).To(HaveLen(2))
	builtIn := "quay.io/operator-framework/scorecard-test:" + sdk[1]
	custom := "quay.io/critical-service/operator-scorecard:v" + csv(g).Spec.Version.String()

	images := map[string]string{}
	config := document[v1alpha3.Configuration](g, "bundle/tests/scorecard/config.yaml", "Configuration")
	for _, stage := range config.Stages {
		for _, test := range stage.Tests {
			g.Expect(test.Entrypoint).To(HaveLen(2))
			g.Expect(images).NotTo(HaveKey(test.Entrypoint[1]))
			images[test.Entrypoint[1]] = test.Image
			if test.Image == custom {
				g.Expect(test.Storage.Spec.MountPath.Path).To(Equal("/test-output"), "%s keeps no evidence", test.Entrypoint[1])
			}
		}
	}
	g.Expect(images).To(Equal(map[string]string{
		"basic-check-spec":         builtIn,
		"olm-bundle-validation":    builtIn,
		"olm-crds-have-validation": builtIn,
		"olm-crds-have-resources":  builtIn,
		"olm-spec-descriptors":     builtIn,
		"olm-status-descriptors":   builtIn,
		"armed":                    custom,
		"outage":                   custom,
		"recovery":                 custom,
		"deletion":                 custom,
		"refusal":                  custom,
		"conversion":               custom,
		"restricted":               custom,
	}))
}
