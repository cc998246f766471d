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
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
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
	found := all[T](g, path, kind)
	g.Expect(found).To(HaveLen(1), "%s in %s", kind, path)
	return found[0]
}

// all decodes the documents of a kind among those of a file.
func all[T any](g Gomega, path, kind string) []T {
	var found []T
	for _, text := range documents(g, path) {
		if regexp.MustCompile(`(?m)^kind: ` + kind + `$`).MatchString(text) {
			var object T
			g.Expect(yaml.UnmarshalStrict([]byte(text), &object)).To(Succeed())
			found = append(found, object)
		}
	}
	return found
}

func load(g Gomega) *manifests.Bundle { return loadFrom(g, "bundle") }

func loadFrom(g Gomega, folder string) *manifests.Bundle {
	bundle, err := manifests.GetBundleFromDir(filepath.Join(root, folder))
	g.Expect(err).NotTo(HaveOccurred())
	return bundle
}

func csv(g Gomega) *v1alpha1.ClusterServiceVersion { return load(g).CSV }

// definitions are the CustomResourceDefinitions that are generated from api/.
func definitions(g Gomega) []apiextensionsv1.CustomResourceDefinition {
	return definitionsIn(g, "config/crd/bases/*.yaml")
}

func definitionsIn(g Gomega, pattern string) []apiextensionsv1.CustomResourceDefinition {
	var found []apiextensionsv1.CustomResourceDefinition
	for _, text := range documents(g, pattern) {
		var crd apiextensionsv1.CustomResourceDefinition
		g.Expect(yaml.UnmarshalStrict([]byte(text), &crd)).To(Succeed())
		found = append(found, crd)
	}
	return found
}

// manager is the one Deployment of the bundle.
func manager(g Gomega) v1alpha1.StrategyDeploymentSpec { return managerOf(g, csv(g)) }

func managerOf(g Gomega, csv *v1alpha1.ClusterServiceVersion) v1alpha1.StrategyDeploymentSpec {
	deployments := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	g.Expect(deployments).To(HaveLen(1))
	return deployments[0]
}

// text is a value as YAML: quantities have many forms in memory, and one there.
func text(g Gomega, value any) string {
	data, err := yaml.Marshal(value)
	g.Expect(err).NotTo(HaveOccurred())
	return string(data)
}

func TestTheBundleHasItsNameAndItsChannel(t *testing.T) {
	g := NewWithT(t)
	bundle := load(g)
	g.Expect(bundle.Package).To(Equal("critical-service-operator"))
	channel, _ := inGraph(g, bundle.CSV.Name)
	g.Expect(bundle.Channels).To(ConsistOf(channel))
	g.Expect(bundle.DefaultChannel).To(Equal("stable-v1"))
	g.Expect(bundle.CSV.Name).To(Equal("critical-service-operator.v" + bundle.CSV.Spec.Version.String()))
	g.Expect(len(bundle.CSV.Name)).To(BeNumerically("<=", 63))
	g.Expect(bundle.Dependencies).To(BeEmpty())
	// A catalog's answer to OLM holds all of this, and etcd takes no object above 1 MiB.
	g.Expect(bundle.CompressedSize).To(BeNumerically("<", 200<<10))
}

// OLM does not remove cluster-scoped objects of a bundle with the operator. What is in its namespace goes with
// the ClusterServiceVersion, which owns it.
func TestTheBundleHoldsNothingButWhatBelongsThere(t *testing.T) {
	g := NewWithT(t)
	var objects []string
	for _, object := range load(g).Objects {
		objects = append(objects, object.GetKind()+" "+object.GetName())
	}
	wanted := []string{
		"ClusterServiceVersion " + csv(g).Name, "PodDisruptionBudget critical-service-operator", "Service critical-service-operator-metrics",
	}
	for _, crd := range definitions(g) {
		wanted = append(wanted, "CustomResourceDefinition "+crd.Name)
	}
	g.Expect(objects).To(ConsistOf(wanted))
}

func TestNoManifestHasWhatAnAPIServerFillsIn(t *testing.T) {
	g := NewWithT(t)
	for _, project := range projects {
		for _, object := range loadFrom(g, project+"bundle").Objects {
			if object.GetKind() == "ClusterServiceVersion" {
				continue // It is decoded through its type.
			}
			g.Expect(object.Object).NotTo(HaveKey("status"), object.GetName())
			g.Expect(object.Object["metadata"]).NotTo(HaveKey("creationTimestamp"), object.GetName())
		}
	}
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

// The image is of two architectures: on a node of another one its Pod would not start.
func TestTheOperatorGoesToNodesThatTheLabelsName(t *testing.T) {
	for _, project := range projects {
		g := NewWithT(t)
		shown := loadFrom(g, project+"bundle").CSV
		var named []string
		for label := range shown.Labels {
			if architecture, found := strings.CutPrefix(label, "operatorframework.io/arch."); found {
				named = append(named, architecture)
			}
		}
		pod := managerOf(g, shown).Spec.Template.Spec
		terms := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		g.Expect(terms).To(HaveLen(1))
		g.Expect(terms[0].MatchExpressions).To(HaveLen(1))
		g.Expect(terms[0].MatchExpressions[0].Key).To(Equal(corev1.LabelArchStable))
		g.Expect(terms[0].MatchExpressions[0].Operator).To(Equal(corev1.NodeSelectorOpIn))
		g.Expect(terms[0].MatchExpressions[0].Values).To(ConsistOf(named))
		g.Expect(pod.NodeSelector).To(Equal(map[string]string{corev1.LabelOSStable: "linux"}))
	}
}

// A Prometheus that scrapes all Pods with this annotation shows no token, and gets 401.
func TestNoPrometheusIsInvitedWithoutAToken(t *testing.T) {
	for _, project := range projects {
		g := NewWithT(t)
		annotations := managerOf(g, loadFrom(g, project+"bundle").CSV).Spec.Template.Annotations
		g.Expect(annotations).To(HaveKeyWithValue("prometheus.io/scheme", "https"))
		g.Expect(annotations).NotTo(HaveKey("prometheus.io/scrape"))
	}
}

// A drain takes one replica at a time, and never waits for ever.
func TestTheBudgetIsThatOfTheOperatorsPods(t *testing.T) {
	g := NewWithT(t)
	var budget policyv1.PodDisruptionBudget
	for _, object := range load(g).Objects {
		if object.GetKind() == "PodDisruptionBudget" {
			g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &budget)).To(Succeed())
		}
	}
	g.Expect(budget.Spec).To(Equal(document[policyv1.PodDisruptionBudget](g, "config/manager/pod_disruption_budget.yaml", "PodDisruptionBudget").Spec))
	g.Expect(budget.Spec.MaxUnavailable).To(HaveValue(Equal(intstr.FromInt32(1))))
	g.Expect(budget.Spec.MinAvailable).To(BeNil())
	g.Expect(budget.Spec.UnhealthyPodEvictionPolicy).To(HaveValue(Equal(policyv1.AlwaysAllow)))

	deployment := manager(g).Spec
	g.Expect(deployment.Replicas).To(HaveValue(BeNumerically(">", 1)))
	selects := func(selector *metav1.LabelSelector) bool {
		parsed, err := metav1.LabelSelectorAsSelector(selector)
		g.Expect(err).NotTo(HaveOccurred())
		return !parsed.Empty() && parsed.Matches(labels.Set(deployment.Template.Labels))
	}
	g.Expect(selects(budget.Spec.Selector)).To(BeTrue())
	var spread []string
	for _, constraint := range deployment.Template.Spec.TopologySpreadConstraints {
		g.Expect(selects(constraint.LabelSelector)).To(BeTrue())
		g.Expect(constraint.WhenUnsatisfiable).To(Equal(corev1.ScheduleAnyway), "a cluster of one node has the operator too")
		spread = append(spread, constraint.TopologyKey)
	}
	g.Expect(spread).To(ConsistOf(corev1.LabelHostname, corev1.LabelTopologyZone))
	// The scheduler leaves nodes without a zone out of both, as most clusters that no cloud runs have them.
	apart := deployment.Template.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	g.Expect(apart).To(HaveLen(1))
	g.Expect(apart[0].PodAffinityTerm.TopologyKey).To(Equal(corev1.LabelHostname))
	g.Expect(selects(apart[0].PodAffinityTerm.LabelSelector)).To(BeTrue())
	g.Expect(deployment.Template.Spec.Containers[0].TerminationMessagePolicy).To(Equal(corev1.TerminationMessageFallbackToLogsOnError))
}

func TestEveryImageIsOfThisVersion(t *testing.T) {
	g := NewWithT(t)
	version := csv(g).Spec.Version.String()
	image := "quay.io/critical-service/operator:v" + version
	g.Expect(manager(g).Spec.Template.Spec.Containers).To(HaveLen(1))
	g.Expect(manager(g).Spec.Template.Spec.Containers[0].Image).To(Equal(image))
	g.Expect(csv(g).Annotations).To(HaveKeyWithValue("containerImage", image))
	g.Expect(csv(g).Spec.RelatedImages).To(ConsistOf(v1alpha1.RelatedImage{Name: "manager", Image: image}))
	g.Expect(read(g, "Makefile")).To(ContainSubstring("\nVERSION ?= " + version + "\n"))
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
	g.Expect(crds).To(HaveLen(len(definitions(g))))
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

// A console offers the first example of a kind and version to users who create an object. It must not need another
// object, nor must any of them be for one namespace of the operator's.
func TestTheFirstExampleWorksAlone(t *testing.T) {
	g := NewWithT(t)
	var examples []criticalv2.CriticalService
	g.Expect(yaml.Unmarshal([]byte(csv(g).Annotations["alm-examples"]), &examples)).To(Succeed())
	examples = slices.DeleteFunc(examples, func(example criticalv2.CriticalService) bool {
		return example.GroupVersionKind() != criticalv2.CriticalServiceKind
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

// Some examples need other objects, or have an effect at once: the description names each of them, or the first one.
func TestTheDescriptionSaysWhatTheExamplesNeed(t *testing.T) {
	g := NewWithT(t)
	var examples []unstructured.Unstructured
	g.Expect(yaml.Unmarshal([]byte(csv(g).Annotations["alm-examples"]), &examples)).To(Succeed())
	needy := 0
	for _, example := range examples {
		fallback, _, err := unstructured.NestedMap(example.Object, "spec", "fallback")
		g.Expect(err).NotTo(HaveOccurred())
		page, _ := fallback["page"].(map[string]any)
		_, lasts, err := unstructured.NestedString(example.Object, "spec", "until")
		g.Expect(err).NotTo(HaveOccurred())
		if example.GetAPIVersion() == "mycrd.com/v1" || fallback["podTemplate"] != nil || fallback["service"] != nil || page["configMapName"] != nil || lasts {
			needy++
			g.Expect(csv(g).Spec.Description).To(ContainSubstring("`" + example.GetName() + "`"))
		}
	}
	g.Expect(needy).To(BeNumerically(">", 4), "this looks at examples")
}

// What is written to be copied means the same tomorrow.
func TestTheDescriptionNamesNoImageWithoutATag(t *testing.T) {
	g := NewWithT(t)
	images := regexp.MustCompile(`--image=(\S+)`).FindAllStringSubmatch(csv(g).Spec.Description, -1)
	g.Expect(images).NotTo(BeEmpty())
	for _, image := range images {
		g.Expect(image[1]).To(MatchRegexp(`^[a-z.]+/[a-z/]+:\d+\.\d+\.\d+$`))
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
	g.Expect(read(g, "catalog/critical-service-operator/package.yaml")).To(ContainSubstring(
		strings.Split(shown.Annotations["description"], ":")[0]+".\n"), "both are shown")
	g.Expect(len(shown.Annotations["description"])).To(And(BeNumerically(">", 40), BeNumerically("<=", 135)), "catalogs show no more")
	g.Expect(len(shown.Spec.DisplayName)).To(And(BeNumerically(">=", 3), BeNumerically("<=", 50)))
	g.Expect(len(shown.Spec.Description)).To(And(BeNumerically(">", 2000), BeNumerically("<", 10000)))
	// In the order in which the template of the pull request asks for them.
	rest := shown.Spec.Description
	for _, heading := range []string{"How it does that", "What answers", "Use it in 60 seconds", "Day 2", "Before you install", "Limits", "Uninstall"} {
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
	for _, label := range []string{"arch.amd64", "arch.arm64", "arch.ppc64le", "arch.s390x", "os.linux"} {
		g.Expect(shown.Labels).To(HaveKeyWithValue("operatorframework.io/"+label, "supported"))
	}
	for _, annotation := range []string{"capabilities", "categories", "createdAt", "repository", "support"} {
		g.Expect(shown.Annotations[annotation]).NotTo(BeEmpty(), annotation)
	}
	g.Expect(shown.Annotations["support"]).NotTo(ContainSubstring("://"), "catalogs show it as who supports the operator")
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

// linksOf are the links to documents of this repository in what a catalog shows: tag, path and anchor.
func linksOf(csv *v1alpha1.ClusterServiceVersion) [][]string {
	text := csv.Spec.Description
	for _, link := range csv.Spec.Links {
		text += "\n" + link.URL
	}
	return regexp.MustCompile(`https://github\.com/critical-service/operator/blob/([^/]+)/([^#)\s]+)(?:#([^)\s]+))?`).FindAllStringSubmatch(text, -1)
}

// Links in the description and beside it are read in a catalog, far from this repository, and long after it has
// changed: they lead to what was said of that version.
func TestEveryLinkOfACatalogLeadsToADocumentOfTheVersion(t *testing.T) {
	g := NewWithT(t)
	links := linksOf(csv(g))
	g.Expect(len(links)).To(BeNumerically(">", 15))
	for _, link := range links {
		g.Expect(link[1]).To(Equal("v"+csv(g).Spec.Version.String()), link[0])
		page, err := os.ReadFile(filepath.Join(root, link[2]))
		g.Expect(err).NotTo(HaveOccurred(), link[0])
		if link[3] != "" {
			g.Expect(anchors(string(page))).To(ContainElement(link[3]), link[0])
		}
	}
	// `make bundle` puts the tag in.
	base := document[v1alpha1.ClusterServiceVersion](g, "config/manifests/bases/critical-service-operator.clusterserviceversion.yaml", "ClusterServiceVersion")
	g.Expect(linksOf(&base)).To(HaveLen(len(links)))
	for _, link := range linksOf(&base) {
		g.Expect(link[1]).To(Equal("main"), link[0])
	}
}

// anchors are those that GitHub gives to the headings of a page.
func anchors(page string) []string {
	var found []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		words := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		found = append(found, strings.ReplaceAll(words, " ", "-"))
	}
	return found
}
