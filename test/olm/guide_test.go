//go:build e2e

package olm

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/critical-service/operator/test/cluster"
	"github.com/critical-service/operator/test/document"
)

// What the guides say, which stories do as they say, but for these names.
const (
	guideNamespace       = "critical-service-system"
	guideSecondNamespace = "critical-service-workloads-system"
	guideCatalog         = "critical-service-catalog"
	guideCatalogImage    = "quay.io/critical-service/operator-catalog:latest"
)

// guide is the one block of code in a section of docs/install.md that has these words, with the names of
// the story.
func (w *world) guide(section, language, words string) string {
	w.t.Helper()
	return w.guideOf("install.md", section, language, words)
}

// guideOf is guide of another page.
func (w *world) guideOf(page, section, language, words string) string {
	w.t.Helper()
	block, err := document.Block(filepath.Join("..", "..", "docs", page), section, language, words)
	w.Expect(err).NotTo(HaveOccurred())
	return strings.NewReplacer(guideNamespace, w.operator, guideSecondNamespace, w.operator, guideCatalog, w.catalog).Replace(block)
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
	w.subscribe(w.guide("OLM", "yaml", "kind: Subscription"), newest, edits)
}

// installSecond does what the guide of the second package says.
func (w *world) installSecond(newest release) {
	w.t.Helper()
	w.subscribe(w.guideOf("workloads.md", "Install", "yaml", "kind: Subscription"), newest, nil)
}

func (w *world) subscribe(manifest string, newest release, edits map[string]any) {
	w.t.Helper()
	manifest = strings.ReplaceAll(manifest, guideCatalogImage, newest.catalogImage())
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
	w.sweepUp()
}

// sweepUp is the last step of the guide, which is repeated until it finds nothing.
func (w *world) sweepUp() {
	w.t.Helper()
	w.shell(w.guide("Uninstall", "sh", "kubectl delete operators.operators.coreos.com"))
}
