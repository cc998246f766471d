package monitoring_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/monitoring"
	"github.com/critical-service/operator/controllers/monitoring/internal/render"
	"github.com/critical-service/operator/test/testenv"
)

// The objects are in the one namespace of the operator, so that tests come one after the other.
type world struct {
	*testenv.World
	operator *testenv.Operator
}

// all are the objects, as kinds.
var all = []string{"ConfigMap", "PodMonitor", "PrometheusRule", "ServiceMonitor"}

// newWorld is one without an operator, and without the Prometheus operator.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: cluster.NewWorld(t)}
	w.empty()
	t.Cleanup(func() {
		if w.operator != nil {
			if t.Failed() {
				t.Logf("the operator's log:\n%s", w.operator.Log(""))
			}
			w.operator.Stop(t)
		}
		w.empty()
	})
	return w
}

// monitored is a world in which all objects are there.
func monitored(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.installPrometheusOperator()
	w.platform()
	w.start(nil)
	w.Eventually(w.there).Should(Equal(all))
	return w
}

// empty removes the policies and all that has to do with monitoring.
func (w *world) empty() {
	ctx := context.WithoutCancel(w.T.Context())
	w.Expect(w.Cluster.Client.DeleteAllOf(ctx, &criticalv2.CriticalService{})).To(Succeed())
	var teams criticalv2.ServiceFallbackList
	w.Expect(w.Cluster.Client.List(ctx, &teams)).To(Succeed())
	for i := range teams.Items {
		w.Expect(client.IgnoreNotFound(w.Cluster.Client.Delete(ctx, &teams.Items[i]))).To(Succeed())
	}
	w.Expect(client.IgnoreNotFound(w.Cluster.Client.Delete(ctx, w.object("ConfigMap")))).To(Succeed())
	for _, definition := range definitions(w) {
		w.Expect(client.IgnoreNotFound(w.Cluster.Client.Delete(ctx, definition))).To(Succeed())
	}
	for _, definition := range definitions(w) {
		w.Eventually(func() bool { return testenv.Gone(ctx, w.Cluster.Client, definition) }).Should(BeTrue(), func() string {
			return fmt.Sprintf("%s: %+v", definition.Name, definition.Status.Conditions)
		})
	}
}

// definitions are those of the Prometheus operator that the module of the devcluster pins.
func definitions(w *world) []*apiextensionsv1.CustomResourceDefinition {
	w.T.Helper()
	folder, err := prometheusOperator()
	w.Expect(err).NotTo(HaveOccurred())
	var found []*apiextensionsv1.CustomResourceDefinition
	for _, plural := range []string{"servicemonitors", "podmonitors", "prometheusrules"} {
		objects, err := testenv.ReadYAML(filepath.Join(folder, "example/prometheus-operator-crd", "monitoring.coreos.com_"+plural+".yaml"))
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(objects).To(HaveLen(1))
		definition := &apiextensionsv1.CustomResourceDefinition{}
		w.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(objects[0].Object, definition)).To(Succeed())
		found = append(found, definition)
	}
	return found
}

// prometheusOperator is the folder of its module. To ask go takes as long as a test.
var prometheusOperator = sync.OnceValues(func() (folder string, err error) {
	download := exec.Command("go", "-C", testenv.Path("hack/devcluster/components/prometheus-operator"),
		"mod", "download", "-json", "github.com/prometheus-operator/prometheus-operator")
	output, err := download.Output()
	if err != nil {
		return "", fmt.Errorf("fetch the definitions of the Prometheus operator: %w: %s", err, output)
	}
	var module struct{ Dir string }
	err = json.Unmarshal(output, &module)
	return module.Dir, err
})

// installPrometheusOperator makes its definitions, as changed, and waits until they are served.
func (w *world) installPrometheusOperator(changes ...func(*apiextensionsv1.CustomResourceDefinition)) {
	w.T.Helper()
	for _, definition := range definitions(w) {
		for _, change := range changes {
			change(definition)
		}
		w.Create(definition)
		w.Eventually(func() bool {
			w.Exists(definition)
			return slices.ContainsFunc(definition.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
				return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
			})
		}).Should(BeTrue())
	}
}

// start starts the operator. A round comes at least twice in a second.
func (w *world) start(change func(*monitoring.Options), interfere ...func(testenv.Request) testenv.Verdict) {
	w.T.Helper()
	w.startWith(change, func(program *testenv.Program) {
		for _, interfere := range interfere {
			program.Interfere = interfere
		}
	})
}

func (w *world) startWith(change func(*monitoring.Options), befall func(*testenv.Program)) {
	w.T.Helper()
	options := monitoring.Options{Namespace: testenv.OperatorNamespace, Period: 500 * time.Millisecond}
	if change != nil {
		change(&options)
	}
	program := testenv.Program{
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{&criticalv2.CriticalService{}: {}}},
		Setup: func(_ context.Context, mgr ctrl.Manager) error { return monitoring.SetupUnbounded(mgr, options) },
	}
	befall(&program)
	w.operator = w.Cluster.Start(w.T, program)
}

// object is the object of a kind by its name.
func (w *world) object(kind string) *unstructured.Unstructured {
	w.T.Helper()
	objects, err := render.Objects(render.Options{Namespace: testenv.OperatorNamespace})
	w.Expect(err).NotTo(HaveOccurred())
	at := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
	return objects[at]
}

// now is the object of a kind as it is.
func (w *world) now(kind string) *unstructured.Unstructured {
	w.T.Helper()
	object := w.object(kind)
	w.Expect(w.Exists(object)).To(BeTrue(), kind)
	return object
}

// there are the kinds of the objects that exist.
func (w *world) there() []string {
	w.T.Helper()
	found := []string{}
	for _, kind := range all {
		object := w.object(kind)
		err := w.Cluster.Client.Get(w.T.Context(), client.ObjectKeyFromObject(object), object)
		if err == nil {
			found = append(found, kind)
		}
	}
	return found
}

func (w *world) platform() *criticalv2.CriticalService {
	w.T.Helper()
	policy := &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: w.Unique("shop")},
		Spec:       criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "frontend"}}},
	}
	w.Create(policy)
	return policy
}

func (w *world) team() *criticalv2.ServiceFallback {
	w.T.Helper()
	policy := &criticalv2.ServiceFallback{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	policy.Spec.Services = []string{"web"}
	w.Create(policy)
	return policy
}

// lines counts what was logged with all of some texts.
func (w *world) lines(texts ...string) int {
	count := 0
	for line := range strings.Lines(w.operator.Log(texts[0])) {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			count++
		}
	}
	return count
}

// rounds waits until some more rounds are over.
func (w *world) rounds(more int) {
	w.T.Helper()
	count := func() int { return w.operator.Reconciles("monitoring", "", "") }
	before := count()
	w.Eventually(count).Should(BeNumerically(">=", before+more))
}
