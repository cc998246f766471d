package render_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/controllers/monitoring/internal/render"
	"github.com/critical-service/operator/internal/controller/write"
)

const root = "../../../.."

func objects(g Gomega, options render.Options) map[string]*unstructured.Unstructured {
	made, err := render.Objects(options)
	g.Expect(err).NotTo(HaveOccurred())
	byName := map[string]*unstructured.Unstructured{}
	for _, object := range made {
		byName[object.GetKind()+" "+object.GetName()] = object
	}
	return byName
}

// The operator applies what an administrator would with kustomize, and says that it does.
func TestTheObjectsAreThoseOfTheKustomizations(t *testing.T) {
	g := NewWithT(t)
	made := objects(g, render.Options{Namespace: "critical-service-system"})
	for _, folder := range []string{"config/prometheus", "config/grafana"} {
		built, err := exec.CommandContext(t.Context(), root+"/bin/tools/kustomize", "build", filepath.Join(root, folder)).Output()
		g.Expect(err).NotTo(HaveOccurred(), "`make kustomize` builds it")
		for document := range strings.SplitSeq("\n"+string(built), "\n---\n") {
			wanted := &unstructured.Unstructured{}
			g.Expect(yaml.Unmarshal([]byte(document), &wanted.Object)).To(Succeed())
			labels := wanted.GetLabels()
			labels[render.LabelManagedBy] = render.Manager
			wanted.SetLabels(labels)
			key := wanted.GetKind() + " " + wanted.GetName()
			g.Expect(made).To(HaveKey(key))
			g.Expect(made[key].GetAnnotations()).To(HaveKey(render.AnnotationApplied))
			made[key].SetAnnotations(nil)
			g.Expect(made[key].Object).To(BeComparableTo(wanted.Object))
			delete(made, key)
		}
	}
	g.Expect(made).To(BeEmpty())
}

func TestTheObjectsAreInTheOperatorsNamespace(t *testing.T) {
	g := NewWithT(t)
	for key, object := range objects(g, render.Options{Namespace: "operators"}) {
		g.Expect(object.GetNamespace()).To(Equal("operators"), key)
		g.Expect(render.Kinds).To(ContainElement(object.GroupVersionKind()))
	}
}

func TestMetricsInPlainHTTPAreScrapedSo(t *testing.T) {
	g := NewWithT(t)
	plain := objects(g, render.Options{PlainHTTP: true})["ServiceMonitor critical-service-operator"]
	secure := objects(g, render.Options{})["ServiceMonitor critical-service-operator"]
	g.Expect(plain.Object["spec"]).To(HaveKeyWithValue("endpoints", ConsistOf(map[string]any{
		"port": "metrics", "path": "/metrics", "scheme": "http", "honorLabels": true,
	})))
	g.Expect(plain.GetAnnotations()).NotTo(Equal(secure.GetAnnotations()), "a change of the setting is a change of the object")
}

func TestWhoKeepsAnObject(t *testing.T) {
	g := NewWithT(t)
	g.Expect(render.Manager).To(Equal(write.FieldManager))
	by := func(manager string, operation metav1.ManagedFieldsOperationType) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate}, {Manager: manager, Operation: operation}}
	}
	ours := map[string]string{render.LabelManagedBy: render.Manager}
	for sentence, test := range map[string]struct {
		labels map[string]string
		fields []metav1.ManagedFieldsEntry
		want   string
	}{
		"the operator: label and fields":                  {ours, by(render.Manager, metav1.ManagedFieldsOperationApply), render.Manager},
		"Helm, by its label":                              {map[string]string{render.LabelManagedBy: "Helm"}, by("helm", metav1.ManagedFieldsOperationUpdate), "Helm"},
		"an administrator, who took it over by the label": {map[string]string{render.LabelManagedBy: "us"}, by(render.Manager, metav1.ManagedFieldsOperationApply), "us"},
		"no one, without a label":                         {nil, by(render.Manager, metav1.ManagedFieldsOperationApply), ""},
		"no one, a copy with our labels":                  {ours, by("kubectl-create", metav1.ManagedFieldsOperationUpdate), ""},
		"no one, where our name only has edited":          {ours, by(render.Manager, metav1.ManagedFieldsOperationUpdate), ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			object := &unstructured.Unstructured{Object: map[string]any{}}
			object.SetLabels(test.labels)
			object.SetManagedFields(test.fields)
			NewWithT(t).Expect(render.ManagerOf(object)).To(Equal(test.want))
		})
	}
}
