package webapp_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// parsed is a WebApp as a user writes its spec, but for what is always required.
func parsed(w *testenv.World, name, spec string) *unstructured.Unstructured {
	w.T.Helper()
	object := &unstructured.Unstructured{}
	w.Expect(yaml.Unmarshal([]byte("spec: {appName: shop, "+spec+"}"), &object.Object)).To(Succeed())
	object.SetGroupVersionKind(workloadsv1.WebAppKind)
	object.SetNamespace(w.Namespace)
	object.SetName(name)
	return object
}

func TestWhatTheSchemaRefuses(t *testing.T) {
	w := cluster.NewWorld(t)
	for sentence, c := range map[string]struct{ name, spec, says string }{
		"no image":                            {"a", `replicas: 1`, "spec.image: Required value"},
		"an image with a blank":               {"a", `image: "web 1"`, "image must be the name of an image"},
		"a database's image with a blank":     {"a", `image: "w:1", dbImage: "mysql 8"`, "dbImage must be the name of an image"},
		"a name that no Service has":          {"a.b", `image: "w:1"`, "the name of a WebApp is that of its Service"},
		"a name that is too long":             {strings.Repeat("a", 61), `image: "w:1"`, "at most 60 lower-case letters"},
		"too many replicas":                   {"a", `image: "w:1", replicas: 501`, "should be less than or equal to 500"},
		"replicas below nothing":              {"a", `image: "w:1", replicas: -1`, "should be greater than or equal to 0"},
		"autoscaling without a threshold":     {"a", `image: "w:1", autoScaleEnabled: true`, "trafficThreshold is required while autoScaleEnabled is true"},
		"a threshold of nothing":              {"a", `image: "w:1", trafficThreshold: 0`, "should be greater than or equal to 1"},
		"a greatest number below the least":   {"a", `image: "w:1", minReplicas: 3, maxReplicas: 2`, "maxReplicas must not be less than minReplicas"},
		"a greatest number of nothing":        {"a", `image: "w:1", maxReplicas: 0`, "should be greater than or equal to 1"},
		"a size without a database":           {"a", `image: "w:1", dbSize: 1Gi`, "dbSize is the volume of the database, and needs dbImage"},
		"a size that is no quantity":          {"a", `image: "w:1", dbImage: "mysql:8", dbSize: big`, "dbSize must be a quantity from 1Mi to 1Pi"},
		"a size beyond all bounds":            {"a", `image: "w:1", dbImage: "mysql:8", dbSize: 2Pi`, "dbSize must be a quantity from 1Mi to 1Pi"},
		"a size that takes minutes to read":   {"a", `image: "w:1", dbImage: "mysql:8", dbSize: "1e-999999999"`, "dbSize must be a quantity"},
		"an engine that is not known":         {"a", `image: "w:1", dbType: oracle`, `supported values: "mongo", "mysql", "postgres"`},
		"the port of the meter":               {"a", `image: "w:1", port: 18080`, "port must not be 18080 or 18081"},
		"a counter without a name":            {"a", `image: "w:1", trafficSource: {port: 80}`, "spec.trafficSource.metric: Required value"},
		"a counter's name with a blank":       {"a", `image: "w:1", trafficSource: {port: 80, metric: "a b"}`, "metric must be the name of a Prometheus counter"},
		"a path with a question":              {"a", `image: "w:1", trafficSource: {port: 80, metric: a, path: "/m?x=1"}`, "path must begin with '/'"},
		"a path that is another host":         {"a", `image: "w:1", trafficSource: {port: 80, metric: a, path: "http://b/"}`, "path must begin with '/'"},
		"settings that no AppConfig is":       {"a", `image: "w:1", configName: "A_B"`, "configName must be the name of an AppConfig"},
		"two fallbacks":                       {"a", `image: "w:1", fallback: {page: {}, none: {}}`, "exactly one of page, podTemplate, service and none"},
		"a limit that is none":                {"a", `image: "w:1", pod: {resources: {limits: {memory: "1e.5"}}}`, "spec.pod.resources.limits.memory in body should match"},
		"more tolerations than a Pod asks of": {"a", `image: "w:1", pod: {tolerations: [` + strings.Repeat("{key: a},", 17) + `]}`, "must have at most 16 items"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			err := w.Cluster.Client.Create(t.Context(), parsed(w, c.name, c.spec))
			g.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(c.says)))
		})
	}
}

func TestWhatMayNotBeChanged(t *testing.T) {
	w := cluster.NewWorld(t)
	w.Create(parsed(w, "with", `image: "w:1", dbImage: "mysql:8.0", dbSize: 2Gi, dbType: mysql`))
	w.Create(parsed(w, "plain", `image: "w:1", dbImage: "mysql:8.0"`))
	w.Create(parsed(w, "without", `image: "w:1"`))
	patch := func(name, change string) error {
		return w.Cluster.Client.Patch(t.Context(), parsed(w, name, ``), client.RawPatch(types.MergePatchType, []byte(`{"spec":`+change+`}`)))
	}
	for sentence, c := range map[string]struct{ name, change, says string }{
		"a database that is taken away":     {"with", `{"dbImage":null,"dbSize":null}`, "dbImage must not be removed"},
		"a size that shrinks":               {"with", `{"dbSize":"1Gi"}`, "dbSize must not become smaller"},
		"a size that is taken away":         {"with", `{"dbSize":null}`, "dbSize must not be added or removed"},
		"a size that is added":              {"plain", `{"dbSize":"1Gi"}`, "dbSize must not be added or removed"},
		"the engine":                        {"with", `{"dbType":"mongo"}`, "dbType must not be changed"},
		"the engine, to what the name says": {"with", `{"dbType":null}`, "dbType must not be changed"},
	} {
		t.Run(sentence, func(t *testing.T) {
			NewWithT(t).Expect(patch(c.name, c.change)).To(MatchError(ContainSubstring(c.says)))
		})
	}
	for sentence, c := range map[string]struct{ name, change string }{
		"the image":                      {"with", `{"image":"w:2"}`},
		"the database's image":           {"with", `{"dbImage":"mysql:8.4"}`},
		"a size that grows":              {"with", `{"dbSize":"3Gi"}`},
		"a database that is added":       {"without", `{"dbImage":"mysql:8.0","dbSize":"1Gi"}`},
		"the engine, where none is said": {"plain", `{"dbType":"mysql"}`},
		"autoscaling, on":                {"plain", `{"autoScaleEnabled":true,"trafficThreshold":100}`},
		"settings that are none":         {"plain", `{"configName":""}`},
	} {
		t.Run(sentence, func(t *testing.T) { NewWithT(t).Expect(patch(c.name, c.change)).To(Succeed()) })
	}
}

// `kubectl scale`, and an autoscaler of the cluster, set spec.replicas.
func TestAWebAppCanBeScaled(t *testing.T) {
	w := cluster.NewWorld(t)
	app := parsed(w, "shop", `image: "w:1"`)
	w.Create(app)
	err := w.Cluster.Client.SubResource("scale").Patch(t.Context(), app, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":5}}`)),
		client.WithSubResourceBody(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale"}}))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.Exists(app)).To(BeTrue())
	replicas, _, _ := unstructured.NestedInt64(app.Object, "spec", "replicas")
	w.Expect(replicas).To(Equal(int64(5)))
}
