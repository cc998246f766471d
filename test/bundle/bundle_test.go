package bundle

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

const root = "../.."

func read(g Gomega, path string) string {
	data, err := os.ReadFile(filepath.Join(root, path))
	g.Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// documents are the YAML documents of the files that a pattern names.
func documents(g Gomega, pattern string) []string {
	files, err := filepath.Glob(filepath.Join(root, pattern))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty(), pattern)
	var texts []string
	for _, file := range files {
		path, err := filepath.Rel(root, file)
		g.Expect(err).NotTo(HaveOccurred())
		for _, text := range regexp.MustCompile(`(?m)^---$`).Split(read(g, path), -1) {
			if strings.Contains(text, "kind:") {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// document decodes the one document of a kind among those of a file.
func document[T any](g Gomega, path, kind string) T {
	var found []T
	for _, text := range documents(g, path) {
		if regexp.MustCompile(`(?m)^kind: ` + kind + `$`).MatchString(text) {
			var object T
			g.Expect(yaml.UnmarshalStrict([]byte(text), &object)).To(Succeed())
			found = append(found, object)
		}
	}
	g.Expect(found).To(HaveLen(1), "%s in %s", kind, path)
	return found[0]
}

func load(g Gomega) *manifests.Bundle {
	bundle, err := manifests.GetBundleFromDir(filepath.Join(root, "bundle"))
	g.Expect(err).NotTo(HaveOccurred())
	return bundle
}

func csv(g Gomega) *v1alpha1.ClusterServiceVersion { return load(g).CSV }

// manager is the one Deployment of the bundle.
func manager(g Gomega) v1alpha1.StrategyDeploymentSpec {
	deployments := csv(g).Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	g.Expect(deployments).To(HaveLen(1))
	return deployments[0]
}

// text is a value as YAML: quantities have many forms in memory, and one there.
func text(g Gomega, value any) string {
	data, err := yaml.Marshal(value)
	g.Expect(err).NotTo(HaveOccurred())
	return string(data)
}

func TestTheBundleHasItsNameAndItsChannels(t *testing.T) {
	g := NewWithT(t)
	bundle := load(g)
	g.Expect(bundle.Package).To(Equal("critical-service-operator"))
	channels, _ := inGraph(g, bundle.CSV.Name)
	g.Expect(channels).To(ContainElement("candidate-v1"))
	g.Expect(bundle.Channels).To(ConsistOf(channels))
	g.Expect(bundle.DefaultChannel).To(Equal("stable-v1"))
	g.Expect(bundle.CSV.Name).To(Equal("critical-service-operator.v" + bundle.CSV.Spec.Version.String()))
	g.Expect(len(bundle.CSV.Name)).To(BeNumerically("<=", 63))
	g.Expect(bundle.Dependencies).To(BeEmpty())
	// A catalog's answer to OLM holds all of this, and etcd takes no object above 1 MiB.
	g.Expect(bundle.CompressedSize).To(BeNumerically("<", 200<<10))
}

// OLM does not remove cluster-scoped objects of a bundle with the operator. The
// Service goes with it, which owns it.
func TestTheBundleHoldsNothingButWhatBelongsThere(t *testing.T) {
	g := NewWithT(t)
	var objects []string
	for _, object := range load(g).Objects {
		objects = append(objects, object.GetKind()+" "+object.GetName())
	}
	g.Expect(objects).To(ConsistOf(
		"ClusterServiceVersion "+csv(g).Name,
		"CustomResourceDefinition criticalservices.mycrd.com",
		"CustomResourceDefinition maintenances.mycrd.com",
		"CustomResourceDefinition servicefallbacks.mycrd.com",
		"Service critical-service-operator-metrics",
	))
}

func TestTheOperatorsPermissionsAreThoseOfTheMarkers(t *testing.T) {
	g := NewWithT(t)
	strategy := csv(g).Spec.InstallStrategy.StrategySpec
	g.Expect(strategy.ClusterPermissions).To(HaveLen(1))
	g.Expect(strategy.Permissions).To(HaveLen(1))
	account := manager(g).Spec.Template.Spec.ServiceAccountName
	g.Expect(strategy.ClusterPermissions[0].ServiceAccountName).To(Equal(account))
	g.Expect(strategy.Permissions[0].ServiceAccountName).To(Equal(account))
	g.Expect(strategy.ClusterPermissions[0].Rules).To(Equal(document[rbacv1.ClusterRole](g, "config/rbac/role.yaml", "ClusterRole").Rules))
	g.Expect(strategy.Permissions[0].Rules).To(Equal(document[rbacv1.Role](g, "config/rbac/role.yaml", "Role").Rules))
	secrets := 0
	for _, rule := range slices.Concat(strategy.ClusterPermissions[0].Rules, strategy.Permissions[0].Rules) {
		for _, part := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.ResourceNames, rule.NonResourceURLs} {
			g.Expect(part).NotTo(ContainElement(ContainSubstring("*")))
		}
		if !slices.Contains(rule.Resources, "secrets") {
			continue
		}
		secrets++
		// What is to be made has no name yet, and is not read by making it.
		if !slices.Equal(rule.Verbs, []string{"create"}) {
			g.Expect(rule.ResourceNames).To(ConsistOf("critical-service-webhook-ca"), "%v", rule)
		}
	}
	g.Expect(secrets).To(Equal(2), "this looks at the rules for Secrets")
}

func TestTheDeploymentIsThatOfTheInstallWithoutOLM(t *testing.T) {
	g := NewWithT(t)
	have := manager(g)
	want := document[appsv1.Deployment](g, "config/manager/manager.yaml", "Deployment")
	g.Expect(have.Name).To(Equal(want.Name))
	// What differs on purpose: the image has a version, and a priority class of the
	// system would need a ResourceQuota on some clusters, which no bundle can hold.
	want.Spec.Template.Spec.Containers[0].Image = have.Spec.Template.Spec.Containers[0].Image
	want.Spec.Template.Spec.PriorityClassName = ""
	g.Expect(text(g, have.Spec)).To(Equal(text(g, want.Spec)))
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		g.Expect(have.Spec.Template.Spec.Containers[0].Resources.Requests).To(HaveKey(name))
	}
	g.Expect(have.Spec.Template.Spec.Containers[0].Resources.Limits).To(HaveKey(corev1.ResourceMemory))
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	g.Expect(err).NotTo(HaveOccurred())
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, result := range evaluator.EvaluatePod(restricted, &have.Spec.Template.ObjectMeta, &have.Spec.Template.Spec) {
		g.Expect(result.Allowed).To(BeTrue(), "%s: %s", result.ForbiddenReason, result.ForbiddenDetail)
	}
}

func TestEveryImageIsOfThisVersion(t *testing.T) {
	g := NewWithT(t)
	version := csv(g).Spec.Version.String()
	image := "quay.io/critical-service/operator:v" + version
	g.Expect(manager(g).Spec.Template.Spec.Containers).To(HaveLen(1))
	g.Expect(manager(g).Spec.Template.Spec.Containers[0].Image).To(Equal(image))
	g.Expect(csv(g).Annotations).To(HaveKeyWithValue("containerImage", image))
	g.Expect(csv(g).Spec.RelatedImages).To(ConsistOf(v1alpha1.RelatedImage{Name: "manager", Image: image}))
	g.Expect(read(g, "Makefile")).To(ContainSubstring("BUNDLE_VERSION ?= " + version + "\n"))
}

func TestTheWebhooksAreServedWithCertificatesOfOLM(t *testing.T) {
	g := NewWithT(t)
	webhooks := map[v1alpha1.WebhookAdmissionType]v1alpha1.WebhookDescription{}
	for _, webhook := range csv(g).Spec.WebhookDefinitions {
		webhooks[webhook.Type] = webhook
		g.Expect(webhook.DeploymentName).To(Equal("critical-service-operator"))
		g.Expect(webhook.ContainerPort).To(BeEquivalentTo(443))
		g.Expect(webhook.TargetPort.String()).To(Equal("webhook"))
		g.Expect(webhook.AdmissionReviewVersions).To(ConsistOf("v1"))
	}
	g.Expect(csv(g).Spec.WebhookDefinitions).To(HaveLen(2))
	g.Expect(webhooks[v1alpha1.ConversionWebhook].ConversionCRDs).To(ConsistOf("criticalservices.mycrd.com"))
	g.Expect(*webhooks[v1alpha1.ConversionWebhook].WebhookPath).To(Equal("/convert"))
	validation := webhooks[v1alpha1.ValidatingAdmissionWebhook]
	g.Expect(*validation.WebhookPath).To(Equal("/validate-mycrd-com-v2-criticalservice"))
	g.Expect(validation.Rules).To(HaveLen(1))
	g.Expect(validation.Rules[0].APIGroups).To(ConsistOf("mycrd.com"))

	// OLM refuses a conversion webhook in any other mode.
	for _, mode := range csv(g).Spec.InstallModes {
		g.Expect(mode.Supported).To(Equal(mode.Type == v1alpha1.InstallModeTypeAllNamespaces), string(mode.Type))
	}
	g.Expect(csv(g).Spec.InstallModes).To(HaveLen(4))
	// In an upgrade the CRD is replaced seconds before OLM writes its own authority into it. With the
	// strategy None in between, what is stored as v1 would be read as v2 without its spec.
	crds := load(g).V1CRDs
	g.Expect(crds).To(HaveLen(3))
	for _, crd := range crds {
		g.Expect(crd.Spec.PreserveUnknownFields).To(BeFalse())
		if len(crd.Spec.Versions) > 1 {
			g.Expect(crd.Spec.Conversion.Strategy).To(Equal(apiextensionsv1.WebhookConverter))
		}
	}
}

func TestTheExamplesAreTheSamples(t *testing.T) {
	g := NewWithT(t)
	var examples []unstructured.Unstructured
	g.Expect(yaml.Unmarshal([]byte(csv(g).Annotations["alm-examples"]), &examples)).To(Succeed())
	var samples []unstructured.Unstructured
	shown := map[string]bool{}
	for _, text := range documents(g, "config/samples/mycrd.com_*.yaml") {
		sample := unstructured.Unstructured{}
		g.Expect(yaml.Unmarshal([]byte(text), &sample)).To(Succeed())
		if sample.GroupVersionKind().Group != criticalv2.GroupVersion.Group {
			continue
		}
		samples = append(samples, sample)
		shown[sample.GroupVersionKind().Version] = true
		fallback, _, err := unstructured.NestedMap(sample.Object, "spec", "fallback")
		g.Expect(err).NotTo(HaveOccurred())
		for kind := range fallback {
			shown[kind] = true
		}
	}
	g.Expect(examples).To(ConsistOf(samples))
	g.Expect(shown).To(And(HaveKey("v1"), HaveKey("v2"), HaveKey("page"), HaveKey("podTemplate"), HaveKey("service")))
}

// A console offers the first example of a version to users who create an object. It must not need another
// object, nor must any of them be for one namespace of the operator's.
func TestTheFirstExampleWorksAlone(t *testing.T) {
	g := NewWithT(t)
	var examples []criticalv2.CriticalService
	g.Expect(yaml.Unmarshal([]byte(csv(g).Annotations["alm-examples"]), &examples)).To(Succeed())
	examples = slices.DeleteFunc(examples, func(example criticalv2.CriticalService) bool {
		return example.APIVersion != criticalv2.GroupVersion.String()
	})
	g.Expect(examples).NotTo(BeEmpty())
	first := examples[0].Spec.Fallback
	g.Expect(first.Page).NotTo(BeNil(), "%s comes first", examples[0].Name)
	g.Expect(first.Page.ConfigMapName).To(BeEmpty())
	for _, example := range examples {
		if template := example.Spec.Fallback.PodTemplate; template != nil {
			g.Expect(template.Namespace).To(BeEmpty(), example.Name)
		}
	}
}

func TestTheNamespaceThatIsSuggestedIsThatOfTheInstallWithoutOLM(t *testing.T) {
	g := NewWithT(t)
	annotations := csv(g).Annotations
	want := document[corev1.Namespace](g, "config/manager/namespace.yaml", "Namespace")
	var have corev1.Namespace
	g.Expect(yaml.UnmarshalStrict([]byte(annotations["operatorframework.io/suggested-namespace-template"]), &have)).To(Succeed())
	g.Expect(have).To(Equal(want))
	g.Expect(annotations).To(HaveKeyWithValue("operatorframework.io/suggested-namespace", want.Name))
}

func TestWhatACatalogShows(t *testing.T) {
	g := NewWithT(t)
	shown := csv(g)
	g.Expect(len(shown.Annotations["description"])).To(And(BeNumerically(">", 40), BeNumerically("<=", 135)), "catalogs show no more")
	g.Expect(len(shown.Spec.DisplayName)).To(And(BeNumerically(">=", 3), BeNumerically("<=", 50)))
	g.Expect(len(shown.Spec.Description)).To(And(BeNumerically(">", 2000), BeNumerically("<", 10000)))
	// In the order in which the template of the pull request asks for them.
	rest := shown.Spec.Description
	for _, heading := range []string{"How it does that", "What answers", "Use it in 60 seconds", "Before you install", "Limits", "Uninstall"} {
		_, after, found := strings.Cut(rest, "## "+heading+"\n")
		g.Expect(found).To(BeTrue(), "%q is missing, or not in its place", heading)
		rest = after
	}
	g.Expect(shown.Spec.Provider.Name).NotTo(BeEmpty())
	g.Expect(shown.Spec.Maintainers).NotTo(BeEmpty())
	for _, maintainer := range shown.Spec.Maintainers {
		g.Expect(maintainer.Name).NotTo(BeEmpty())
		g.Expect(maintainer.Email).To(ContainSubstring("@"))
	}
	g.Expect(shown.Spec.Links).NotTo(BeEmpty())
	for _, link := range shown.Spec.Links {
		g.Expect(link.Name).NotTo(BeEmpty())
		g.Expect(link.URL).To(HavePrefix("https://"))
	}
	g.Expect(shown.Spec.MinKubeVersion).To(Equal("1.28.0"))
	for _, label := range []string{"arch.amd64", "arch.arm64", "os.linux"} {
		g.Expect(shown.Labels).To(HaveKeyWithValue("operatorframework.io/"+label, "supported"))
	}
	for _, annotation := range []string{"capabilities", "categories", "createdAt", "repository", "support"} {
		g.Expect(shown.Annotations[annotation]).NotTo(BeEmpty(), annotation)
	}
	g.Expect(read(g, "docs/maintainers/capabilities.md")).To(ContainSubstring("**"+shown.Annotations["capabilities"]+"**"),
		"docs/maintainers/capabilities.md justifies another level")
}

func TestTheIconIsTheSourceAndIsSquare(t *testing.T) {
	g := NewWithT(t)
	source := read(g, "config/manifests/icon.svg")
	icons := csv(g).Spec.Icon
	g.Expect(icons).To(HaveLen(1))
	g.Expect(icons[0].MediaType).To(Equal("image/svg+xml"))
	g.Expect(icons[0].Data).To(Equal(base64.StdEncoding.EncodeToString([]byte(source))))
	size := regexp.MustCompile(`viewBox="0 0 (\d+) (\d+)"`).FindStringSubmatch(source)
	g.Expect(size).To(HaveLen(3))
	g.Expect(size[1]).To(Equal(size[2]))
}

// Links in the description and beside it are read in a catalog, far from this repository.
func TestEveryLinkOfACatalogLeadsToADocument(t *testing.T) {
	g := NewWithT(t)
	text := csv(g).Spec.Description
	for _, link := range csv(g).Spec.Links {
		text += "\n" + link.URL
	}
	links := regexp.MustCompile(`https://github\.com/critical-service/operator/blob/main/([^#)\s]+)`).FindAllStringSubmatch(text, -1)
	g.Expect(len(links)).To(BeNumerically(">", 4))
	for _, link := range links {
		_, err := os.Stat(filepath.Join(root, link[1]))
		g.Expect(err).NotTo(HaveOccurred(), link[0])
	}
}
