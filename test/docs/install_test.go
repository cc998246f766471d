package docs_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/settings"
)

const (
	installPage = "docs/install.md"
	chartFolder = root + "/config/chart/critical-service-operator"
)

// blocks are the code blocks of the page in a language.
func blocks(g Gomega, language string) []string {
	var found []string
	for _, match := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(read(g, installPage), -1) {
		found = append(found, match[1])
	}
	g.Expect(found).NotTo(BeEmpty())
	return found
}

// begun are the YAML blocks that begin with a comment.
func begun(g Gomega, comment string) []string {
	var found []string
	for _, block := range blocks(g, "yaml") {
		if strings.HasPrefix(block, "# "+comment+"\n") {
			found = append(found, block)
		}
	}
	g.Expect(found).NotTo(BeEmpty(), comment)
	return found
}

// run runs a program to its end, and is what it printed.
func run(t *testing.T, program string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Env = append(os.Environ(), "HOME="+t.TempDir())
	output, err := command.Output()
	if failed, isExit := errors.AsType[*exec.ExitError](err); isExit {
		err = errors.New(string(failed.Stderr))
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "%s (these tests are run by `make test`, which builds it)", command)
	return string(output)
}

func toolPath(name string) string {
	if name == "kubectl" {
		return filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), name)
	}
	return filepath.Join(root, "bin/tools", name)
}

// commands are the lines of the shell blocks, as words.
func commands(g Gomega) [][]string {
	var found [][]string
	for _, block := range blocks(g, "sh") {
		for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
			found = append(found, strings.Fields(line))
		}
	}
	return found
}

func TestTheInstallPageHasCommandsThatAreOne(t *testing.T) {
	g := NewWithT(t)
	makefile := read(g, "Makefile") + read(g, "hack/project.mk")
	for _, block := range blocks(g, "sh") {
		run(t, "bash", "-n", "-c", block)
	}
	verbs := regexp.MustCompile(`^[a-z][a-z-]*$`)
	help := map[string]string{}
	for _, words := range commands(g) {
		program := words[0]
		if program != "kubectl" && program != "helm" {
			g.Expect(program).To(BeElementOf("operator-sdk", "crane", "skopeo", "oc", "oc-mirror", "make", "sha256sum", "for", "done"), strings.Join(words, " "))
			continue
		}
		// kubectl's namespace may stand before the verb.
		arguments := words[1:]
		if arguments[0] == "-n" {
			arguments = arguments[2:]
		}
		verb := arguments[:1]
		if slices.Contains([]string{"create", "rollout"}, arguments[0]) {
			verb = arguments[:2]
		}
		if arguments[0] == "create" && arguments[1] == "secret" {
			verb = arguments[:3]
		}
		key := program + " " + strings.Join(verb, " ")
		if help[key] == "" {
			help[key] = run(t, toolPath(program), append(slices.Clone(verb), "--help")...)
			if program == "kubectl" {
				help[key] += run(t, toolPath(program), "options")
			}
		}
		for _, word := range verb {
			g.Expect(word).To(MatchRegexp(verbs.String()), strings.Join(words, " "))
		}
		for _, word := range arguments {
			flag, _, _ := strings.Cut(word, "=")
			switch {
			case strings.HasPrefix(flag, "--"):
				g.Expect(help[key]).To(MatchRegexp(`\s`+flag+`[= \n\[]`), "%s has no %s", key, flag)
			case strings.HasPrefix(flag, "-") && len(flag) == 2:
				g.Expect(help[key]).To(MatchRegexp(`\s`+flag+`, --`), "%s has no %s", key, flag)
			}
		}
	}
	targets := regexp.MustCompile("(?m)(?:`|^)make ([a-z -]+)").FindAllStringSubmatch(read(g, installPage), -1)
	g.Expect(targets).NotTo(BeEmpty())
	for _, match := range targets {
		for target := range strings.FieldsSeq(match[1]) {
			if _, err := os.Stat(filepath.Join(root, "hack/tools", target+".mod")); err == nil {
				continue // Every tool is a target.
			}
			g.Expect(makefile).To(MatchRegexp(`(?m)^`+target+`:`), "there is no target %s", target)
		}
	}
}

// thisVersion is X.Y.Z of the chart, and of the operator that it installs.
func thisVersion(g Gomega) string {
	var chart struct{ Version string }
	g.Expect(yaml.Unmarshal([]byte(read(g, "config/chart/critical-service-operator/Chart.yaml")), &chart)).To(Succeed())
	g.Expect(chart.Version).NotTo(BeEmpty())
	return chart.Version
}

func TestTheInstallPageIsOfThisVersion(t *testing.T) {
	g := NewWithT(t)
	versions := regexp.MustCompile(`(?:\?ref=|releases/download/|/(?:operator|workloads)[a-z-]*:|critical-service/operator/|newTag: |VERSION=|critical-service-operator-)v?(\d+\.\d+\.\d+)`)
	for page, names := range map[string]bool{
		installPage: true, "docs/metrics.md": true, "docs/maintainers/scorecard.md": true,
		// They hold for every version, and name none.
		"README.md": false, "config/chart/critical-service-operator/README.md": false,
	} {
		var found []string
		for line := range strings.Lines(read(g, page)) {
			for _, match := range versions.FindAllStringSubmatch(line, -1) {
				g.Expect(match[1]).To(Equal(thisVersion(g)), "%s: %s", page, line)
				found = append(found, match[1])
			}
		}
		if names {
			g.Expect(found).NotTo(BeEmpty(), page)
		} else {
			g.Expect(found).To(BeEmpty(), page)
		}
	}
}

func TestTheInstallPageHasValuesThatTheChartTakes(t *testing.T) {
	g := NewWithT(t)
	for _, values := range begun(g, "values.yaml") {
		path := filepath.Join(t.TempDir(), "values.yaml")
		g.Expect(os.WriteFile(path, []byte(values), 0o600)).To(Succeed())
		installed := run(t, toolPath("helm"), "template", "critical-service-operator", chartFolder, "--values", path)
		if strings.Contains(values, "pullSecrets") {
			deployment := deploymentOf(g, installed)
			g.Expect(deployment.Spec.Template.Spec.ImagePullSecrets).To(ConsistOf(corev1.LocalObjectReference{Name: "registry"}))
			g.Expect(deployment.Spec.Template.Spec.Containers[0].Image).To(HavePrefix("registry.example.com/critical-service/operator:v"))
			g.Expect(installed).To(ContainSubstring("RESPONDER_IMAGE_PULL_SECRETS: \"registry\""))
		}
	}
}

func TestTheInstallPageHasKustomizationsThatBuild(t *testing.T) {
	g := NewWithT(t)
	remote := regexp.MustCompile(`https://github\.com/critical-service/operator//(\S+)\?ref=\S+`)
	for _, kustomization := range begun(g, "kustomization.yaml") {
		folder := t.TempDir()
		// Kustomize takes relative folders only.
		config, err := filepath.Abs(root)
		g.Expect(err).NotTo(HaveOccurred())
		config, err = filepath.Rel(folder, config)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(kustomization).To(MatchRegexp(remote.String()))
		local := remote.ReplaceAllString(kustomization, config+"/$1")
		g.Expect(os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(local), 0o600)).To(Succeed())
		installed := run(t, toolPath("kustomize"), "build", folder)
		deployment := deploymentOf(g, installed)
		manager := deployment.Spec.Template.Spec.Containers[0]
		g.Expect(manager.Image).To(HaveSuffix("critical-service/operator:v" + thisVersion(g)))
		// The hash in this name is what restarts the operator.
		g.Expect(manager.EnvFrom[0].ConfigMapRef.Name).To(MatchRegexp("^critical-service-settings-[a-z0-9]+$"))
		g.Expect(installed).To(ContainSubstring("name: " + manager.EnvFrom[0].ConfigMapRef.Name + "\n  namespace: critical-service-system\n"))
		for name := range variables(kustomization, `- ([A-Z_]+)=`) {
			g.Expect(settingNames()).To(ContainElement(name))
		}
		if strings.Contains(kustomization, "imagePullSecrets") {
			g.Expect(deployment.Spec.Template.Spec.ImagePullSecrets).To(ConsistOf(corev1.LocalObjectReference{Name: "registry"}))
		} else {
			g.Expect(deployment.Spec.Replicas).To(HaveValue(BeEquivalentTo(3)))
		}
	}
}

// Beside the file of a release nothing is fetched.
func TestTheInstallPageHasAKustomizationForTheFileOfARelease(t *testing.T) {
	g := NewWithT(t)
	released := run(t, toolPath("kustomize"), "build", filepath.Join(root, "config/default"))
	released = strings.ReplaceAll(released, "quay.io/critical-service/operator:dev", "quay.io/critical-service/operator:v"+thisVersion(g))
	image := "registry.example.com/critical-service/operator:v" + thisVersion(g)
	built := func(kustomization string) string {
		folder := t.TempDir()
		g.Expect(kustomization).To(ContainSubstring("\n- install.yaml\n"))
		g.Expect(os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(kustomization), 0o600)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(folder, "install.yaml"), []byte(released), 0o600)).To(Succeed())
		return run(t, toolPath("kustomize"), "build", folder)
	}
	beside := begun(g, "kustomization.yaml, beside install.yaml")
	g.Expect(beside).To(HaveLen(1))
	g.Expect(built(beside[0])).To(Equal(strings.ReplaceAll(released, "quay.io/critical-service/operator:v"+thisVersion(g), image)))

	// The page says that the other kustomizations take it in place of the URL.
	address := regexp.MustCompile(`https://github\.com/critical-service/operator//\S+`)
	for _, kustomization := range begun(g, "kustomization.yaml") {
		pod := deploymentOf(g, built(address.ReplaceAllString(kustomization, "install.yaml"))).Spec.Template.Spec
		g.Expect(pod.Containers[0].EnvFrom[0].ConfigMapRef.Name).To(MatchRegexp("^critical-service-settings-[a-z0-9]+$"))
		if strings.Contains(kustomization, "imagePullSecrets") {
			g.Expect(pod.Containers[0].Image).To(Equal(image))
			g.Expect(pod.ImagePullSecrets).To(ConsistOf(corev1.LocalObjectReference{Name: "registry"}))
		}
	}
}

func TestTheInstallPageHasObjectsThatTheirKindsTake(t *testing.T) {
	g := NewWithT(t)
	known := map[string]func() any{
		"v1 Namespace":                                func() any { return &corev1.Namespace{} },
		"mycrd.com/v2 CriticalService":                func() any { return &criticalv2.CriticalService{} },
		"operators.coreos.com/v1alpha1 Subscription":  func() any { return &v1alpha1.Subscription{} },
		"operators.coreos.com/v1alpha1 CatalogSource": func() any { return &v1alpha1.CatalogSource{} },
		"operators.coreos.com/v1 OperatorGroup":       func() any { return &operatorsv1.OperatorGroup{} },
	}
	seen := map[string]any{}
	for _, block := range blocks(g, "yaml") {
		for document := range strings.SplitSeq(block, "\n---\n") {
			var header struct{ APIVersion, Kind string }
			g.Expect(yaml.Unmarshal([]byte(document), &header)).To(Succeed(), document)
			kind := header.APIVersion + " " + header.Kind
			if maker, isKnown := known[kind]; isKnown {
				object := maker()
				g.Expect(yaml.UnmarshalStrict([]byte(document), object)).To(Succeed(), document)
				seen[kind] = object
			}
		}
	}
	g.Expect(seen).To(HaveLen(len(known)))
	subscription := seen["operators.coreos.com/v1alpha1 Subscription"].(*v1alpha1.Subscription)
	for _, variable := range subscription.Spec.Config.Env {
		g.Expect(settingNames()).To(ContainElement(variable.Name))
	}
	catalog := seen["operators.coreos.com/v1alpha1 CatalogSource"].(*v1alpha1.CatalogSource)
	g.Expect(subscription.Spec.CatalogSource).To(Equal(catalog.Name))
	g.Expect(read(g, "bundle/metadata/annotations.yaml")).To(ContainSubstring("package.v1: " + subscription.Spec.Package + "\n"))
	g.Expect(read(g, "bundle/metadata/annotations.yaml")).To(ContainSubstring("channel.default.v1: " + subscription.Spec.Channel + "\n"))
}

func TestTheUninstallLooksForAllThatTheOperatorMakes(t *testing.T) {
	g := NewWithT(t)
	page := read(g, installPage)
	for _, name := range []string{
		"endpointslice.kubernetes.io/managed-by=" + criticalv2.ManagedBy, "-l " + criticalv2.LabelFallbackFor,
		"metadata.name=critical-service-responder", "`" + criticalv2.AnnotationCriticalService + "`",
	} {
		g.Expect(page).To(ContainSubstring(name))
	}
}

func deploymentOf(g Gomega, stream string) *appsv1.Deployment {
	for document := range strings.SplitSeq(stream, "\n---\n") {
		deployment := &appsv1.Deployment{}
		g.Expect(yaml.Unmarshal([]byte(document), deployment)).To(Succeed())
		if deployment.Kind == "Deployment" {
			return deployment
		}
	}
	g.Expect(stream).To(ContainSubstring("kind: Deployment"))
	return nil
}

// settingNames are the variables of all settings.
func settingNames() []string {
	var names []string
	flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	settings.Bind(flags, func(string) (string, bool) { return "", false })
	flags.VisitAll(func(flag *pflag.Flag) {
		for name := range variables(flag.Usage, `\(env ([A-Z_]+)`) {
			names = append(names, name)
		}
	})
	return names
}

func variables(text, pattern string) map[string]bool {
	found := map[string]bool{}
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found[match[1]] = true
	}
	return found
}
