package render_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/render"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// eachWebApp runs a test on every file of testdata.
func eachWebApp(t *testing.T, test func(g Gomega, file string, a *workloadsv1.WebApp)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.input.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(len(files)).To(BeNumerically(">=", 3))
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			g := NewWithT(t)
			data, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			var a workloadsv1.WebApp
			g.Expect(yaml.UnmarshalStrict(data, &a)).To(Succeed())
			test(g, file, &a)
		})
	}
}

func podOf(a *workloadsv1.WebApp) *corev1.PodTemplateSpec {
	config := ""
	if a.Spec.ConfigName != "" {
		config = a.Spec.ConfigName + "-1"
	}
	return &render.Deployment(a, config, "workloads:1", 2).Spec.Template
}

// The template is in the files: another version of the operator that changes it would replace every
// Pod.
func TestTheObjectsOfAWebApp(t *testing.T) {
	eachWebApp(t, func(g Gomega, file string, a *workloadsv1.WebApp) {
		deployment := render.Deployment(a, "", "workloads:1", 2)
		deployment.Spec.Template = *podOf(a)
		objects := []any{render.Service(a), deployment, render.Budget(a)}
		if database := render.Database(a); database != nil {
			objects = append(objects, database)
		}
		var documents []string
		for _, object := range objects {
			document, err := yaml.Marshal(object)
			g.Expect(err).NotTo(HaveOccurred())
			documents = append(documents, string(document))
		}
		got := strings.Join(documents, "---\n")

		golden := strings.Replace(file, ".input.", ".golden.", 1)
		if *update {
			g.Expect(os.WriteFile(golden, []byte(got), 0o600)).To(Succeed())
		}
		want, err := os.ReadFile(golden)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(Equal(string(want)), "read what has changed; then go test with -update")
	})
}

func TestPodsAreAllowedUnderTheBaseline(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	eachWebApp(t, func(g Gomega, _ string, a *workloadsv1.WebApp) {
		pod := podOf(a)
		for _, result := range evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelBaseline, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
			g.Expect(result.Allowed).To(BeTrue(), "%s: %s", result.ForbiddenReason, result.ForbiddenDetail)
		}
	})
}

func TestWhatIsSelectedIsTheWebAppsOwn(t *testing.T) {
	eachWebApp(t, func(g Gomega, _ string, a *workloadsv1.WebApp) {
		pod := podOf(a)
		another := a.DeepCopy()
		another.Name += "-2"
		for _, selector := range []map[string]string{render.Service(a).Spec.Selector, render.Budget(a).Spec.Selector.MatchLabels} {
			g.Expect(labels.SelectorFromSet(selector).Matches(labels.Set(pod.Labels))).To(BeTrue())
			g.Expect(labels.SelectorFromSet(selector).Matches(labels.Set(podOf(another).Labels))).To(BeFalse())
		}
		text, err := labels.Parse(render.SelectorText(a))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(text.Matches(labels.Set(pod.Labels))).To(BeTrue())
	})
}

// The number of Pods alone replaces none.
func TestTheHashIsOfThePodAlone(t *testing.T) {
	eachWebApp(t, func(g Gomega, _ string, a *workloadsv1.WebApp) {
		few, many := render.Deployment(a, "", "workloads:1", 1), render.Deployment(a, "", "workloads:1", 9)
		g.Expect(few.Annotations).To(Equal(many.Annotations))
		g.Expect(render.Deployment(a, "other", "workloads:1", 1).Annotations).NotTo(Equal(few.Annotations))
	})
}
