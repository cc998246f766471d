//go:build e2e

package olm

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/test/cluster"
)

// judged is an operator that scorecard judges.
type judged struct {
	// folder is that of its project.
	folder string
	// name is that of the namespace in which scorecard runs its tests, and of their ServiceAccount.
	name string
}

// The two operators: see config/scorecard/rbac.yaml of each.
var (
	firstJudged  = judged{filepath.Join("..", ".."), "critical-service-scorecard"}
	secondJudged = judged{filepath.Join("..", "..", "workloads"), "critical-service-workloads-scorecard"}
)

// scorecardAccount gives the custom tests their permissions, and forget takes them away, at the latest
// when the story ends.
func (w *world) scorecardAccount(of judged) (forget func()) {
	w.t.Helper()
	content, err := os.ReadFile(filepath.Join(of.folder, "config", "scorecard", "rbac.yaml"))
	w.Expect(err).NotTo(HaveOccurred())
	objects, err := cluster.Decode(content)
	w.Expect(err).NotTo(HaveOccurred())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: of.name}}
	forget = func() {
		for _, object := range objects {
			w.remove(object, installLimit)
		}
		w.remove(namespace, installLimit)
	}
	w.t.Cleanup(forget)
	for _, object := range objects {
		w.Expect(w.Apply(w.ctx, "critical-service-e2e-olm", object)).To(Succeed())
	}
	w.Eventually(func(g Gomega) {
		g.Expect(w.Get(w.ctx, keyOf(of.name, of.name), &corev1.ServiceAccount{})).To(Succeed())
	}).Should(Succeed())
	return forget
}

// scorecard judges the current bundle of an operator, and the operator that is installed, by the tests of a
// configuration, and returns their results by name.
func (w *world) scorecard(of judged, configuration string, args ...string) map[string]v1alpha3.TestResult {
	w.t.Helper()
	const limit = 6 * time.Minute
	// It ends with an error if a test fails: that is for the story to judge.
	output, remarks, _ := w.operatorSDK(limit+time.Minute, append([]string{
		"scorecard", w.bundleOf(of), "--config", configuration, "--namespace", of.name,
		"--service-account", of.name, "--wait-time", limit.String(), "--output", "json",
	}, args...)...)
	var list v1alpha3.TestList
	w.Expect(json.Unmarshal([]byte(output), &list)).To(Succeed(), "the result of scorecard: %s%s", output, remarks)
	results := map[string]v1alpha3.TestResult{}
	for _, test := range list.Items {
		for _, result := range test.Status.Results {
			results[result.Name] = result
			w.t.Logf("%s: %s %v", result.Name, result.State, result.Errors)
		}
	}
	return results
}

// findsNothing runs all tests of the bundle of an operator, and among them that of a name, which must pass.
func (w *world) findsNothing(of judged, name string) {
	w.t.Helper()
	results := w.scorecard(of, w.bundleTests(of))
	w.Expect(results).To(And(HaveKey("basic-check-spec"), HaveKey(name)), "tests of Operator SDK and of this project")
	for name, result := range results {
		w.Expect(result.State).To(Equal(v1alpha3.PassState), "%s: %v\n%s", name, result.Errors, result.Log)
		// Examples have no status, because only the operator writes one.
		w.Expect(result.Suggestions).To(Or(BeEmpty(), HaveEach(ContainSubstring("does not have status spec"))), "what %s suggests", name)
	}
	w.t.Logf("scorecard passes %v", slices.Sorted(maps.Keys(results)))
}

// bundleOf is the folder of the current bundle of an operator. operator-sdk runs in another one.
func (w *world) bundleOf(of judged) string {
	w.t.Helper()
	folder, err := filepath.Abs(filepath.Join(of.folder, "bundle"))
	w.Expect(err).NotTo(HaveOccurred())
	return folder
}

// bundleTests is the configuration of the bundle.
func (w *world) bundleTests(of judged) string {
	w.t.Helper()
	return filepath.Join(w.bundleOf(of), "tests", "scorecard", "config.yaml")
}

// impatient is the configuration of the first bundle, with custom tests that soon give up: what an operator
// does that works, it does sooner.
func (w *world) impatient() string {
	w.t.Helper()
	content, err := os.ReadFile(w.bundleTests(firstJudged))
	w.Expect(err).NotTo(HaveOccurred())
	var configuration v1alpha3.Configuration
	w.Expect(yaml.UnmarshalStrict(content, &configuration)).To(Succeed())
	for i := range configuration.Stages {
		tests := configuration.Stages[i].Tests
		for j := range tests {
			if tests[j].Labels["suite"] == "custom" {
				tests[j].Entrypoint = append(tests[j].Entrypoint, "--await-timeout=30s")
			}
		}
	}
	content, err = yaml.Marshal(configuration)
	w.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(w.t.TempDir(), "config.yaml")
	w.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	return file
}
