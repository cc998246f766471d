package chart_test

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

func TestKubectlTakesOverWhatHelmHasLeft(t *testing.T) {
	w := newWorld(t)
	w.helm("install", release, chart)
	definition, _ := w.operate()
	policy := w.policy()

	w.helm("uninstall", release)
	w.goes(w.validation)
	w.apply(kustomized(w), "--server-side", "--force-conflicts")
	w.read(policy)
	trustedToConvert, _ := w.trusted()
	w.Expect(trustedToConvert).To(Equal(definition))
}

func TestAnUpgradeByKubectlTakesNothingAwayThatTheOperatorWrote(t *testing.T) {
	for sentence, flag := range map[string]string{
		"by server-side apply":     "--server-side=true",
		"by a merge in the client": "--server-side=false",
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t)
			objects := kustomized(w)
			w.apply(objects, flag)
			definition, validation := w.operate()
			for _, object := range objects {
				labels := object.GetLabels()
				labels["app.kubernetes.io/version"] = "next"
				object.SetLabels(labels)
			}
			w.apply(objects, flag)
			w.trusts(definition, validation)
			w.Expect(w.definition.Labels).To(HaveKeyWithValue("app.kubernetes.io/version", "next"))
			w.Expect(w.validation.Labels).To(HaveKeyWithValue("app.kubernetes.io/version", "next"))
		})
	}
}

// kustomized is what kustomize builds, but for the namespace, which is there and
// stays. The objects are deleted when the test ends.
func kustomized(w *world) map[string]*unstructured.Unstructured {
	w.t.Helper()
	objects := built(w.t, "config/default")
	delete(objects, "Namespace "+namespace)
	w.t.Cleanup(func() {
		for _, object := range objects {
			w.delete(object)
		}
	})
	return objects
}

func (w *world) apply(objects map[string]*unstructured.Unstructured, flags ...string) {
	w.t.Helper()
	var documents []string
	for _, object := range objects {
		data, err := yaml.Marshal(object.Object)
		w.Expect(err).NotTo(HaveOccurred())
		documents = append(documents, string(data))
	}
	w.kubectl(strings.Join(documents, "---\n"), append([]string{"apply", "-f", "-"}, flags...)...)
}

func TestAnUpgradePutsBackWhatWasScaledByHand(t *testing.T) {
	scale := []string{"scale", "--replicas=1", "-n", namespace, "deployment/critical-service-operator"}
	for sentence, way := range map[string]struct {
		install, upgrade func(*world)
		wanted           int
	}{
		"by Helm, if it is configured to": {
			install: func(w *world) { w.helm("install", release, chart) },
			upgrade: func(w *world) {
				arguments := []string{"upgrade", release, chart, "--set", "replicas=3"}
				w.Expect(w.refused(arguments...)).To(ContainSubstring(`conflict with "kubectl"`))
				w.helm(append(arguments, "--force-conflicts")...)
			},
			wanted: 3,
		},
		"by kubectl, as docs/install.md says": {
			install: func(w *world) { w.apply(kustomized(w), documentedFlags(w)...) },
			upgrade: func(w *world) { w.apply(kustomized(w), documentedFlags(w)...) },
			wanted:  2,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t)
			way.install(w)
			w.kubectl("", scale...)
			w.read(w.deployment)
			w.Expect(w.deployment.Spec.Replicas).To(HaveValue(BeEquivalentTo(1)))
			way.upgrade(w)
			w.read(w.deployment)
			w.Expect(w.deployment.Spec.Replicas).To(HaveValue(BeEquivalentTo(way.wanted)))
		})
	}
}

// documentedFlags are those with which the documentation applies everything that
// it installs, for the first time and for an upgrade.
func documentedFlags(w *world) []string {
	w.t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs/install.md"))
	w.Expect(err).NotTo(HaveOccurred())
	commands := regexp.MustCompile(`(?m)^kubectl apply (.*) -[fk] `).FindAllStringSubmatch(string(page), -1)
	w.Expect(commands).NotTo(BeEmpty())
	for _, command := range commands {
		w.Expect(command[1]).To(Equal(commands[0][1]), command[0])
	}
	return strings.Fields(commands[0][1])
}
