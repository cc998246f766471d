package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// The operator may be in any namespace there, and the ServiceMonitor has to be in the same one.
func TestTheKustomizationForUsersOfOLM(t *testing.T) {
	g := NewWithT(t)
	_, part, found := strings.Cut(read(g, "docs/metrics.md"), "### With OLM\n")
	g.Expect(found).To(BeTrue())
	const address = `https://(?:github|raw\.githubusercontent)\.com/critical-service/operator/(?:v[0-9.]+)?/([a-z_/.]+)`
	for _, path := range regexp.MustCompile(address).FindAllStringSubmatch(part, -1) {
		g.Expect(filepath.Join(root, path[1])).To(BeAnExistingFile())
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(part)
	g.Expect(block).To(HaveLen(2))

	folder := t.TempDir()
	repository, err := filepath.Abs(root)
	g.Expect(err).NotTo(HaveOccurred())
	repository, err = filepath.Rel(folder, repository)
	g.Expect(err).NotTo(HaveOccurred())
	remote := regexp.MustCompile(`- ` + address + `(?:\?ref=\S+)?`)
	local := remote.ReplaceAllString(block[1], "- "+repository+"/$1")
	g.Expect(local).NotTo(ContainSubstring("https://"))
	g.Expect(local).To(ContainSubstring("namespace: critical-service-system\n"))
	local = strings.Replace(local, "namespace: critical-service-system\n", "namespace: operators\n", 1)
	g.Expect(os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(local), 0o600)).To(Succeed())

	// What is a file here is beside the folder, and would not be permitted.
	built := run(t, toolPath("kustomize"), "build", "--load-restrictor=LoadRestrictionsNone", folder)
	where := map[string]string{}
	for _, text := range regexp.MustCompile(`(?m)^---$`).Split(built, -1) {
		var object unstructured.Unstructured
		g.Expect(yaml.Unmarshal([]byte(text), &object)).To(Succeed())
		where[object.GetKind()+" "+object.GetName()] = object.GetNamespace()
	}
	g.Expect(where).To(Equal(map[string]string{
		"ServiceMonitor critical-service-operator":      "operators",
		"PodMonitor critical-service-responder":         "operators",
		"PrometheusRule critical-service-operator":      "operators",
		"ConfigMap critical-service-operator-dashboard": "operators",
		"ClusterRole critical-service-metrics-reader":   "",
	}))
}
