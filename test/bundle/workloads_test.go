package bundle

import (
	"encoding/base64"
	"path/filepath"
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
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/internal/operator/webhook/crdschema"
)

const (
	sibling     = "workloads/"
	siblingName = "critical-service-workloads"
)

// projects are the folders of both.
var projects = []string{"", sibling}

func siblingBundle(g Gomega) *manifests.Bundle { return loadFrom(g, sibling+"bundle") }

func TestTheWorkloadsBundleInstallsAlone(t *testing.T) {
	g := NewWithT(t)
	bundle := siblingBundle(g)
	g.Expect(bundle.Package).To(Equal(siblingName))
	g.Expect(bundle.CSV.Name).To(Equal(siblingName+".v"+csv(g).Spec.Version.String()), "both packages have one version")
	channel, place := inGraph(g, bundle.CSV.Name)
	g.Expect(bundle.Channels).To(ConsistOf(channel))
	g.Expect(placeOf(bundle)).To(Equal(place))
	g.Expect(bundle.DefaultChannel).To(Equal("stable-v1"))
	// OLM v1 refuses a bundle that depends on another package, or that serves an API by aggregation.
	g.Expect(bundle.Dependencies).To(BeEmpty())
	g.Expect(bundle.CSV.Spec.APIServiceDefinitions).To(Equal(v1alpha1.APIServiceDefinitions{}))
	g.Expect(bundle.CSV.Spec.CustomResourceDefinitions.Required).To(BeEmpty())
	for _, mode := range bundle.CSV.Spec.InstallModes {
		g.Expect(mode.Supported).To(Equal(mode.Type == v1alpha1.InstallModeTypeAllNamespaces), string(mode.Type))
	}
	g.Expect(bundle.CompressedSize).To(BeNumerically("<", 200<<10))
	g.Expect(problems(bundle)).To(BeEmpty())

	var objects, wanted []string
	for _, object := range bundle.Objects {
		objects = append(objects, object.GetKind()+" "+object.GetName())
	}
	for _, crd := range definitionsIn(g, sibling+"config/crd/bases/*.yaml") {
		wanted = append(wanted, "CustomResourceDefinition "+crd.Name)
	}
	g.Expect(objects).To(ConsistOf(append(wanted, "ClusterServiceVersion "+bundle.CSV.Name,
		"PodDisruptionBudget "+siblingName, "Service "+siblingName+"-metrics")))
}

func TestTheWorkloadsBundleInstallsTheDeploymentOfTheInstallWithoutOLM(t *testing.T) {
	g := NewWithT(t)
	shown := siblingBundle(g).CSV
	deployments := shown.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	g.Expect(deployments).To(HaveLen(1))
	have, want := deployments[0], document[appsv1.Deployment](g, sibling+"config/manager/manager.yaml", "Deployment")
	g.Expect(have.Name).To(Equal(want.Name))
	image := "quay.io/critical-service/workloads:v" + shown.Spec.Version.String()
	want.Spec.Template.Spec.Containers[0].Image = image
	g.Expect(text(g, have.Spec)).To(Equal(text(g, want.Spec)))
	g.Expect(shown.Annotations).To(HaveKeyWithValue("containerImage", image))
	g.Expect(shown.Spec.RelatedImages).To(ConsistOf(v1alpha1.RelatedImage{Name: "manager", Image: image}))

	var suggested corev1.Namespace
	g.Expect(yaml.UnmarshalStrict([]byte(shown.Annotations["operatorframework.io/suggested-namespace-template"]), &suggested)).To(Succeed())
	g.Expect(suggested).To(Equal(document[corev1.Namespace](g, sibling+"config/manager/namespace.yaml", "Namespace")))

	g.Expect(shown.Spec.WebhookDefinitions).To(HaveLen(1))
	webhook := shown.Spec.WebhookDefinitions[0]
	g.Expect(webhook.Type).To(Equal(v1alpha1.ConversionWebhook))
	g.Expect(webhook.DeploymentName).To(Equal(siblingName))
	g.Expect(webhook.ConversionCRDs).To(ConsistOf("appconfigs.mycrd.com"))
	for _, crd := range siblingBundle(g).V1CRDs {
		if len(crd.Spec.Versions) > 1 {
			g.Expect(crd.Spec.Conversion.Strategy).To(Equal(apiextensionsv1.WebhookConverter))
		}
	}
}

func TestEveryFieldOfTheWorkloadsHasADescriptor(t *testing.T) {
	g := NewWithT(t)
	everyFieldIsDescribed(g, siblingBundle(g), definitionsIn(g, sibling+"config/crd/bases/*.yaml"),
		"conditions", "fallback.page", "fallback.podTemplate", "fallback.service", "pod.resources", "pod.tolerations")
}

func TestTheWorkloadsPermissionsAreThoseOfTheMarkersAndSaidInFull(t *testing.T) {
	g := NewWithT(t)
	shown := siblingBundle(g).CSV
	strategy := shown.Spec.InstallStrategy.StrategySpec
	g.Expect(strategy.ClusterPermissions).To(HaveLen(1))
	g.Expect(strategy.Permissions).To(HaveLen(1))
	var everywhere []rbacv1.PolicyRule
	for _, role := range all[rbacv1.ClusterRole](g, sibling+"config/rbac/role.yaml", "ClusterRole") {
		everywhere = append(everywhere, role.Rules...)
	}
	var athome []rbacv1.PolicyRule
	for _, role := range all[rbacv1.Role](g, sibling+"config/rbac/role.yaml", "Role") {
		athome = append(athome, role.Rules...)
	}
	// OLM mounts the certificate of the webhook, and writes itself whom the API server trusts.
	g.Expect(strategy.ClusterPermissions[0].Rules).To(Equal(withoutVerbs(everywhere, map[string][]string{"customresourcedefinitions": {"patch"}})))
	g.Expect(strategy.Permissions[0].Rules).To(Equal(withoutVerbs(athome, needlessUnderOLM)))

	for _, rule := range slices.Concat(everywhere, athome) {
		for _, part := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.ResourceNames, rule.NonResourceURLs} {
			g.Expect(part).NotTo(ContainElement(ContainSubstring("*")))
		}
		if slices.Contains(rule.Resources, "persistentvolumeclaims") {
			g.Expect(rule.Verbs).NotTo(ContainElement(HavePrefix("delete")), "data is never deleted")
		}
	}
	for _, rule := range everywhere {
		if slices.Contains(rule.Resources, "secrets") {
			g.Expect(rule.Verbs).NotTo(ContainElements("list"), "Secrets are read by name")
			g.Expect(rule.Verbs).NotTo(ContainElements("watch"), "Secrets are read by name")
		}
	}
	g.Expect(saidToBeGranted(g, shown.Spec.Description, "**What it may do**")).To(ConsistOf(
		named(slices.Concat(strategy.ClusterPermissions[0].Rules, strategy.Permissions[0].Rules))), "the description in a catalog")
}

func TestWhatACatalogShowsOfTheWorkloads(t *testing.T) {
	g := NewWithT(t)
	shown := siblingBundle(g).CSV
	g.Expect(len(shown.Annotations["description"])).To(And(BeNumerically(">", 40), BeNumerically("<=", 135)), "catalogs show no more")
	g.Expect(shown.Spec.Icon).To(HaveLen(1))
	g.Expect(shown.Spec.Icon[0].Data).To(Equal(base64.StdEncoding.EncodeToString([]byte(read(g, sibling+"config/manifests/icon.svg")))))
	links := linksOf(shown)
	g.Expect(links).NotTo(BeEmpty())
	for _, link := range links {
		g.Expect(link[1]).To(Equal("v"+shown.Spec.Version.String()), link[0])
		g.Expect(filepath.Join(root, link[2])).To(BeAnExistingFile())
	}

	var examples, samples []unstructured.Unstructured
	g.Expect(yaml.Unmarshal([]byte(shown.Annotations["alm-examples"]), &examples)).To(Succeed())
	for _, text := range documents(g, sibling+"config/samples/mycrd.com_*.yaml") {
		sample := unstructured.Unstructured{}
		g.Expect(yaml.Unmarshal([]byte(text), &sample)).To(Succeed())
		samples = append(samples, sample)
		gvk := sample.GroupVersionKind()
		schema, err := crdschema.Compile([]byte(read(g, sibling+"config/crd/bases/mycrd.com_"+strings.ToLower(gvk.Kind)+"s.yaml")), gvk.Version)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(schema.ValidateObject(sample.Object)).To(BeEmpty(), sample.GetName())
	}
	g.Expect(examples).To(ConsistOf(samples))
}
