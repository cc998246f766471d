package bundle

import (
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/webhook/crdschema"
)

// A console offers this object as soon as the operator is installed.
func TestTheFirstObjectIsValid(t *testing.T) {
	g := NewWithT(t)
	annotations := csv(g).Annotations
	first := annotations["operatorframework.io/initialization-resource"]
	var policy criticalv2.CriticalService
	g.Expect(yaml.UnmarshalStrict([]byte(first), &policy)).To(Succeed())
	g.Expect(policy.GroupVersionKind()).To(Equal(criticalv2.CriticalServiceKind))
	g.Expect(policy.Name).NotTo(BeEmpty())
	schema, err := crdschema.Load()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(schema.Validate(&policy.Spec)).To(BeEmpty())

	var object any
	var examples []any
	g.Expect(yaml.Unmarshal([]byte(first), &object)).To(Succeed())
	g.Expect(yaml.Unmarshal([]byte(annotations["alm-examples"]), &examples)).To(Succeed())
	g.Expect(examples).To(ContainElement(object), "it is one of the examples")

	// The description tells the same story: what was labelled for its example is what this object selects.
	var shown criticalv2.CriticalService
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(csv(g).Spec.Description)
	g.Expect(example).To(HaveLen(2))
	g.Expect(yaml.UnmarshalStrict([]byte(example[1]), &shown)).To(Succeed())
	g.Expect(policy.Name).To(Equal(shown.Name))
	g.Expect(policy.Spec.ServiceSelector).To(Equal(shown.Spec.ServiceSelector))
	g.Expect(policy.Spec.Namespaces).To(BeEmpty(), "the Service is in the user's own namespace")
	for key, value := range policy.Spec.ServiceSelector.MatchLabels {
		g.Expect(csv(g).Spec.Description).To(MatchRegexp(`kubectl label service \S+ ` + key + "=" + value + `\s`))
	}
}
