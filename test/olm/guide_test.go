//go:build e2e

package olm

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/critical-service/operator/test/cluster"
)

// What docs/install.md says, which stories do as it says, but for these names.
const (
	guideNamespace    = "critical-service-system"
	guideTrial        = "critical-service-trial"
	guideCatalog      = "critical-service-catalog"
	guideCatalogImage = "quay.io/critical-service/operator-catalog:latest"
)

var codeBlock = regexp.MustCompile("(?s)\n```([a-z]+)\n(.*?)```\n")

// guide is the one block of code in a section of docs/install.md that has these words, with the names of
// the story.
func (w *world) guide(section, language, words string) string {
	w.t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "install.md"))
	w.Expect(err).NotTo(HaveOccurred())
	var found []string
	for text := range strings.SplitSeq(string(content), "\n## ") {
		if title, _, _ := strings.Cut(text, "\n"); title != section {
			continue
		}
		for _, block := range codeBlock.FindAllStringSubmatch(text, -1) {
			if block[1] == language && strings.Contains(block[2], words) {
				found = append(found, block[2])
			}
		}
	}
	w.Expect(found).To(HaveLen(1), "blocks of %s with %q in section %q of docs/install.md", language, words, section)
	return strings.NewReplacer(guideNamespace, w.operator, guideTrial, w.operator, guideCatalog, w.catalog).Replace(found[0])
}

// shell runs commands as a user does who copies them, and returns all that they say.
func (w *world) shell(commands string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, installLimit)
	defer cancel()
	output, err := exec.CommandContext(ctx, "bash", "-ec", commands).CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), "%s\n%s", commands, output)
	return string(output)
}

// install does what the guide says, with a catalog in which a version is the newest, and with edits to
// the Subscription.
func (w *world) install(newest release, edits map[string]any) {
	w.t.Helper()
	manifest := strings.ReplaceAll(w.guide("OLM", "yaml", "kind: Subscription"), guideCatalogImage, newest.catalogImage())
	objects, err := cluster.Decode([]byte(manifest))
	w.Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		if object.GetKind() == "Subscription" {
			for path, value := range edits {
				w.Expect(unstructured.SetNestedField(object.Object, value, strings.Split(path, ".")...)).To(Succeed())
			}
		}
		w.Expect(w.Apply(w.ctx, "critical-service-e2e-olm", object)).To(Succeed())
	}
}

// withdraw is the first step of the guide: with the objects goes what the operator made for them.
// Once their definitions are gone, the garbage collector may miss what belonged to them.
func (w *world) withdraw() {
	w.t.Helper()
	w.shell(w.guide("Uninstall", "sh", "kubectl delete crisvc --all"))
	look := w.guide("Uninstall", "sh", "kubectl get endpointslices")
	w.Eventually(func() int { return strings.Count(w.shell(look), "No resources found") }).Should(
		Equal(strings.Count(look, "kubectl get")), "what the operator has made for Services is gone")
}

// uninstall does what the guide says, in its order.
func (w *world) uninstall() {
	w.t.Helper()
	w.withdraw()
	w.shell(w.guide("Uninstall", "sh", "delete subscription"))
	w.shell(w.guide("Uninstall", "sh", "kubectl delete crd"))
	w.shell(w.guide("Uninstall", "sh", "kubectl delete operators.operators.coreos.com"))
}
