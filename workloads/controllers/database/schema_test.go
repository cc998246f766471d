package database_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// parsed is a Database as a user writes its spec.
func (w *world) parsed(name, spec string) *unstructured.Unstructured {
	w.T.Helper()
	object := &unstructured.Unstructured{}
	w.Expect(yaml.Unmarshal([]byte("spec: "+spec), &object.Object)).To(Succeed())
	object.SetGroupVersionKind(workloadsv1.DatabaseKind)
	object.SetNamespace(w.Namespace)
	object.SetName(name)
	return object
}

func TestWhatTheSchemaRefuses(t *testing.T) {
	w := newWorld(t)
	for sentence, c := range map[string]struct{ name, spec, says string }{
		"no type":                                                 {"a", `{image: "mongo:4.0"}`, "spec.type: Required value"},
		"an empty type":                                           {"a", `{type: ""}`, `supported values: "mongo", "mysql", "postgres"`},
		"a type that is not known":                                {"a", `{type: oracle}`, `supported values: "mongo", "mysql", "postgres"`},
		"a name that no Service has":                              {"a.b", `{type: mongo}`, "the name of a Database is that of its Service"},
		"a name that begins with a digit":                         {"1a", `{type: mongo}`, "beginning with a letter"},
		"a name that is too long":                                 {strings.Repeat("a", 64), `{type: mongo}`, "at most 63"},
		"a size with a blank":                                     {"a", `{type: mongo, storage: {size: "1 Gi"}}`, "size must be a quantity from 1Mi to 1Pi, without a blank"},
		"a size that is no quantity":                              {"a", `{type: mongo, storage: {size: big}}`, "size must be a quantity"},
		"a size of nothing":                                       {"a", `{type: mongo, storage: {size: "0"}}`, "size must be a quantity from 1Mi"},
		"a size beyond all bounds":                                {"a", `{type: mongo, storage: {size: 2Pi}}`, "to 1Pi"},
		"a Service that has no address":                           {"a", `{type: mongo, service: {type: ExternalName}}`, `supported values: "ClusterIP", "NodePort", "LoadBalancer"`},
		"an image with a blank":                                   {"a", `{type: mongo, image: "mongo 4"}`, "image must be the name of an image"},
		"two fallbacks":                                           {"a", `{type: mongo, fallback: {page: {}, none: {}}}`, "exactly one of page, podTemplate, service and none"},
		"a fallback of nothing":                                   {"a", `{type: mongo, fallback: {}}`, "leave fallback out for the page"},
		"a PodTemplate of a namespace":                            {"a", `{type: mongo, fallback: {podTemplate: {name: b, namespace: c}}}`, "leave namespace out"},
		"a Secret's name that cannot be":                          {"a", `{type: mongo, credentials: {secretName: A_B}}`, "secretName must be a Secret's name"},
		"more tolerations than a Pod asks":                        {"a", `{type: mongo, pod: {tolerations: [` + strings.Repeat("{key: a},", 17) + `]}}`, "must have at most 16 items"},
		"a limit that only the usual pattern of quantities takes": {"a", `{type: mongo, pod: {resources: {limits: {memory: "1e.5"}}}}`, "spec.pod.resources.limits.memory in body should match"},
		"a limit that is no whole number":                         {"a", `{type: mongo, pod: {resources: {limits: {cpu: 1.5}}}}`, "spec.pod.resources.limits.cpu in body must be of type integer,string"},
		"a size that would take minutes to read":                  {"a", `{type: mongo, storage: {size: "1e-999999999"}}`, "size must be a quantity from 1Mi to 1Pi"},
		"an effect that is not known":                             {"a", `{type: mongo, pod: {tolerations: [{effect: NoRun}]}}`, `supported values: "", "NoSchedule", "PreferNoSchedule", "NoExecute"`},
		"a policy that is not known":                              {"a", `{type: mongo, storage: {size: 1Gi, deletionPolicy: Recycle}}`, `supported values: "Retain", "Delete"`},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			err := w.Cluster.Client.Create(t.Context(), w.parsed(c.name, c.spec))
			g.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(c.says)))
		})
	}
}

func TestWhatMayNotBeChanged(t *testing.T) {
	w := newWorld(t)
	const with = `{type: mongo, storage: {size: 2Gi, storageClassName: fast}, credentials: {secretName: mine}}`
	w.Create(w.parsed("with", with))
	w.Create(w.parsed("without", `{type: mongo}`))
	patch := func(name, change string) error {
		return w.Cluster.Client.Patch(t.Context(), w.parsed(name, `{}`), client.RawPatch(types.MergePatchType, []byte(`{"spec":`+change+`}`)))
	}
	for sentence, c := range map[string]struct{ name, change, says string }{
		"the type":                        {"with", `{"type":"mysql"}`, "type must not be changed"},
		"a size that shrinks":             {"with", `{"storage":{"size":"1Gi"}}`, "size must not become smaller"},
		"the same size in fewer words":    {"with", `{"storage":{"size":"2G"}}`, "size must not become smaller"},
		"the storage class":               {"with", `{"storage":{"storageClassName":"slow"}}`, "storageClassName must not be changed"},
		"the storage class, to none":      {"with", `{"storage":{"storageClassName":null}}`, "storageClassName must not be changed"},
		"storage that is taken away":      {"with", `{"storage":null}`, "storage must not be added or removed"},
		"storage that is added":           {"without", `{"storage":{"size":"1Gi"}}`, "storage must not be added or removed"},
		"the Secret":                      {"with", `{"credentials":{"secretName":"other"}}`, "credentials.secretName must not be changed"},
		"the Secret, to a generated one":  {"with", `{"credentials":null}`, "credentials.secretName must not be changed"},
		"a generated Secret, to a user's": {"without", `{"credentials":{"secretName":"mine"}}`, "credentials.secretName must not be changed"},
	} {
		t.Run(sentence, func(t *testing.T) {
			NewWithT(t).Expect(patch(c.name, c.change)).To(MatchError(ContainSubstring(c.says)))
		})
	}
	for sentence, c := range map[string]struct{ name, change string }{
		"a size that grows":                  {"with", `{"storage":{"size":"3Gi"}}`},
		"what becomes of the claim":          {"with", `{"storage":{"deletionPolicy":"Delete"}}`},
		"the image":                          {"without", `{"image":"mongo:7.0"}`},
		"the type of the Service":            {"without", `{"service":{"type":"ClusterIP"}}`},
		"one fallback for another":           {"without", `{"fallback":{"page":{},"none":null}}`},
		"a Secret's name that says the same": {"without", `{"credentials":{"secretName":""}}`},
		"what the Pod asks":                  {"without", `{"pod":{"resources":{"requests":{"memory":"1Gi"}},"nodeSelector":{"disk":"ssd"}}}`},
		"the page, for nothing":              {"without", `{"fallback":{"page":null,"none":{}}}`},
	} {
		t.Run(sentence, func(t *testing.T) { NewWithT(t).Expect(patch(c.name, c.change)).To(Succeed()) })
	}
}

// The document lists Databases by their short names, and sees their type first.
func TestTheDefinitionIsThatOfTheDocument(t *testing.T) {
	w := newWorld(t)
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName("databases.mycrd.com")
	w.Expect(w.Cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(crd), crd)).To(Succeed())
	short, _, _ := unstructured.NestedStringSlice(crd.Object, "spec", "names", "shortNames")
	w.Expect(short).To(Equal([]string{"db", "dbs"}))
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	columns, _, _ := unstructured.NestedSlice(versions[0].(map[string]any), "additionalPrinterColumns")
	var names []any
	for _, column := range columns {
		if priority := column.(map[string]any)["priority"]; priority == nil {
			names = append(names, column.(map[string]any)["name"])
		}
	}
	w.Expect(names).To(Equal([]any{"Type", "Ready", "Address", "Age"}))
}
