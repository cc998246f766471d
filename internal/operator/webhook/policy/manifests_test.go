package policy

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

func manifest(g Gomega, file string, into any) {
	data, err := os.ReadFile("../../../../config/" + file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(yaml.Unmarshal(data, into)).To(Succeed())
}

func TestTheCodeAndTheManifestsNameTheSame(t *testing.T) {
	g := NewWithT(t)
	var service corev1.Service
	manifest(g, "webhook/service.yaml", &service)
	g.Expect(service.Name).To(Equal(Options.Service))
	var crd apiextensionsv1.CustomResourceDefinition
	manifest(g, "crd/bases/mycrd.com_criticalservices.yaml", &crd)
	g.Expect(crd.Name).To(Equal(Options.Kind.Definition()))
	g.Expect(crd.Spec.Names.Kind).To(Equal(Options.Kind.Kind))
	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	manifest(g, "webhook/manifests.yaml", &configuration)
	g.Expect(configuration.Name).To(Equal(Options.Service))
	g.Expect(configuration.Webhooks[0].Name).To(Equal(Options.Validation.Name))
	g.Expect(*configuration.Webhooks[0].ClientConfig.Service.Path).To(Equal(Options.Validation.Path))
}

// An operator that is down blocks no write, and is not asked about other kinds.
func TestTheValidationFailsOpen(t *testing.T) {
	g := NewWithT(t)
	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	manifest(g, "webhook/manifests.yaml", &configuration)
	asked := configuration.Webhooks[0]
	g.Expect(*asked.FailurePolicy).To(Equal(admissionregistrationv1.Ignore))
	g.Expect(*asked.SideEffects).To(Equal(admissionregistrationv1.SideEffectClassNone))
	g.Expect(time.Duration(*asked.TimeoutSeconds) * time.Second).To(BeNumerically(">", 2*(budget+settle)))
	g.Expect(asked.Rules).To(HaveLen(1))
	g.Expect(asked.Rules[0].APIGroups).To(Equal([]string{criticalv2.GroupVersion.Group}))
	g.Expect(asked.Rules[0].APIVersions).To(ConsistOf("v1", "v2"))
	g.Expect(asked.Rules[0].Resources).To(Equal([]string{"criticalservices"}), "the operator's own writes of the status are not asked about")
	g.Expect(asked.Rules[0].Operations).To(ConsistOf(admissionregistrationv1.Create, admissionregistrationv1.Update), "what is there can always be deleted")
}
