package docs_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/test/document"
)

const webAppPage = "docs/webapp.md"

// The exercise names seven fields with their types. The page begins with these alone, and so does its walk-through.
func TestTheExerciseOfWebAppsHasItsSevenFields(t *testing.T) {
	g := NewWithT(t)
	for section, language := range map[string]string{"Use it": "yaml", strings.TrimSpace(strings.TrimPrefix(exercise, "## ")): "sh"} {
		block, err := document.Block(filepath.Join(root, webAppPage), section, language, "trafficThreshold: 100")
		g.Expect(err).NotTo(HaveOccurred())
		_, manifest, shell := strings.Cut(block, "<<'END'\n")
		if !shell {
			manifest = block
		}
		var object struct {
			Kind string         `json:"kind"`
			Spec map[string]any `json:"spec"`
		}
		g.Expect(yaml.Unmarshal([]byte(strings.TrimSuffix(manifest, "END\n")), &object)).To(Succeed())
		g.Expect(object.Kind).To(Equal("WebApp"))
		types := map[string]any{
			"appName": "", "image": "", "dbImage": "", "replicas": 0., "dbSize": "", "autoScaleEnabled": true, "trafficThreshold": 0.,
		}
		g.Expect(object.Spec).To(HaveLen(len(types)), section)
		for field, like := range types {
			g.Expect(object.Spec[field]).To(BeAssignableToTypeOf(like), "%s: %s", section, field)
		}
	}
}

// A test types the commands of the exercise as they stand on the page: it names a part of each block.
func TestTheExerciseOfWebAppsIsTested(t *testing.T) {
	g := NewWithT(t)
	test := read(g, "workloads/test/e2e/webapp_document_test.go")
	quoted := regexp.MustCompile(`"([^"\n]+)"`).FindAllStringSubmatch(test, -1)
	steps := strings.Split(walkthrough(g, webAppPage), "```sh\n")[1:]
	g.Expect(len(steps)).To(BeNumerically(">", 5))
	for _, step := range steps {
		commands, _, _ := strings.Cut(step, "```")
		g.Expect(slices.ContainsFunc(quoted, func(text []string) bool {
			return len(text[1]) > len("kubectl get") && strings.Contains(commands, text[1])
		})).To(BeTrue(), "no test types\n%s", commands)
	}
}
