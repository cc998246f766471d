package suitetest

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/test/scorecard/suite"
)

// Program holds the program of a suite to what scorecard expects, and its bundle to run all of its tests.
func Program(t *testing.T, tested suite.Suite, config string) {
	t.Helper()
	t.Run("a test outside of a cluster prints a result, too", func(t *testing.T) { printsAResult(t, tested) })
	t.Run("the bundle runs every test", func(t *testing.T) { isConfigured(t, tested, config) })
}

// Scorecard reads all that a test prints as its result, so there must be one in any case.
func printsAResult(t *testing.T, tested suite.Suite) {
	g := NewWithT(t)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for _, check := range tested.Checks {
		var out bytes.Buffer
		root := tested.Command()
		root.SetArgs([]string{check.Name})
		root.SetOut(&out)
		root.SetErr(&out)
		g.Expect(root.ExecuteContext(t.Context())).To(Succeed())
		var status v1alpha3.TestStatus
		g.Expect(json.Unmarshal(out.Bytes(), &status)).To(Succeed(), out.String())
		g.Expect(status.Results).To(HaveLen(1))
		g.Expect(status.Results[0].State).To(Equal(v1alpha3.ErrorState))
		g.Expect(status.Results[0].Errors).To(ConsistOf(ContainSubstring("does not run in a Pod")))
		g.Expect(status.Results[0].Suggestions).NotTo(BeEmpty())
	}
}

func isConfigured(t *testing.T, tested suite.Suite, file string) {
	g := NewWithT(t)
	text, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	var config v1alpha3.Configuration
	g.Expect(yaml.UnmarshalStrict(text, &config)).To(Succeed())
	var configured [][]string
	for _, stage := range config.Stages {
		for _, test := range stage.Tests {
			if test.Labels["suite"] == "custom" {
				configured = append(configured, test.Entrypoint)
			}
		}
	}
	var wanted []any
	for _, check := range tested.Checks {
		wanted = append(wanted, []string{"scorecard", check.Name})
	}
	g.Expect(configured).To(ConsistOf(wanted...))
}
