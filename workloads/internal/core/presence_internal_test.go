package core

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func definition() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: Definition, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
			{Name: "v1"}, {Name: "v2", Served: true, Schema: &apiextensionsv1.CustomResourceValidation{}},
		}},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
			{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue}, {Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
		}},
	}
}

func TestWhetherServiceFallbacksAreServed(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*apiextensionsv1.CustomResourceDefinition)
		want   bool
	}{
		"the definition is established and serves v2": {func(*apiextensionsv1.CustomResourceDefinition) {}, true},
		"the API server has not established it yet": {func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Status.Conditions = crd.Status.Conditions[:1]
		}, false},
		"its names are taken, so that it is not established": {func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Status.Conditions[1].Status = apiextensionsv1.ConditionFalse
		}, false},
		"it is being deleted": {func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}, false},
		"it is of a release without v2":          {func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions = crd.Spec.Versions[:1] }, false},
		"an administrator has turned off its v2": {func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Served = false }, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			crd := definition()
			test.change(crd)
			g.Expect(isServed(crd)).To(Equal(test.want))
			kept, err := slim(crd)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(isServed(kept)).To(Equal(test.want), "the cache keeps what says so")
		})
	}
}

func TestTheCacheKeepsNoSchema(t *testing.T) {
	g := NewWithT(t)
	kept, err := slim(definition())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept).To(HaveField("ManagedFields", BeEmpty()))
	g.Expect(kept.(*apiextensionsv1.CustomResourceDefinition).Spec.Versions).To(HaveEach(HaveField("Schema", BeNil())))
}

func TestOnlyAnotherAnswerIsAChange(t *testing.T) {
	g := NewWithT(t)
	p := &Presence{changed: make(chan struct{})}
	changed := p.Changed()
	p.learn(true, false)
	g.Expect(changed).NotTo(BeClosed(), "what is there at the start is no change")
	p.learn(true, true)
	g.Expect(changed).NotTo(BeClosed(), "nor is an event that says the same")
	p.learn(false, true)
	g.Expect(changed).To(BeClosed())
	g.Expect(p.Changed()).NotTo(BeClosed(), "the next change is another one")
}
