package stories_test

import (
	"fmt"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/critical-service/operator/test/crdtest"
	"github.com/critical-service/operator/test/generated"
	"github.com/critical-service/operator/test/testenv"
)

// generators are those of all kinds and versions, with valid objects of each.
func generators(t *testing.T) []*crdtest.Generator {
	t.Helper()
	const (
		selecting = `{apiVersion: mycrd.com/v2, kind: CriticalService, spec: {serviceSelector: {matchLabels: {a: b}}, fallback: `
		naming    = `{apiVersion: mycrd.com/v2, kind: ServiceFallback, spec: {services: [web], fallback: `
		planning  = `{apiVersion: mycrd.com/v2, kind: Maintenance, spec: {services: [web]`
	)
	fallbacks := []string{`{page: {}}}}`, `{podTemplate: {name: a}}}}`, `{podTemplate: {name: a, activation: Standby}}}}`, `{service: {name: a}}}}`}
	of := func(kind, version string, examples ...string) *crdtest.Generator {
		data, err := os.ReadFile(testenv.Path("config/crd/bases/mycrd.com_" + kind + ".yaml"))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return crdtest.NewGenerator(t, crdtest.Definition{YAML: data, Version: version}, examples...)
	}
	with := func(head string) (examples []string) {
		for _, fallback := range fallbacks {
			examples = append(examples, head+fallback)
		}
		return examples
	}
	return []*crdtest.Generator{
		of("criticalservices", "v1", `{apiVersion: mycrd.com/v1, kind: CriticalService, spec: {matchLabels: [{key: a, value: b}]}}`),
		of("criticalservices", "v2", with(selecting)...),
		of("servicefallbacks", "v2", with(naming)...),
		of("maintenances", "v2", planning+`}}`, planning+`, recurring: {schedule: "0 2 * * SUN", duration: 2h}}}`, planning+`, restore: {deployment: a, replicas: 1}}}`),
	}
}

// ofResponder are the kinds of what a responder consists of, which goes with the policies that ask for it. The slices and the
// Pods of Services are looked for at the end.
var ofResponder = []schema.GroupVersionKind{
	appsv1.SchemeGroupVersion.WithKind("Deployment"), corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"),
}

// An object that the API server accepts settles, and one that it refuses is refused in one sentence that names the field. Each
// has a Service of its own, so that no other policy takes precedence: of two, one is out.
func TestAGeneratedObjectSettlesOrIsRefused(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	w.template(func(template *corev1.PodTemplate) { template.Name = "a" })
	w.spare("a", "a-1")
	services := make([]*corev1.Service, generated.AtATime)
	for i := range services {
		name := fmt.Sprintf("web-%d", i)
		labeled := func(s *corev1.Service) { s.Labels = map[string]string{"a": name} }
		if services[i] = w.down(name, labeled); i%2 == 0 {
			w.recover(services[i])
		}
	}
	run := generated.Run{
		World: w.World, Operator: w.operator, Kinds: generators(t),
		Made: ofResponder, Outlives: func(*metav1.PartialObjectMetadata) bool { return false },
		Prepare: func(number int, object *unstructured.Unstructured) {
			object.SetLabels(map[string]string{labelWorld: w.Namespace})
			if object.GetKind() != "CriticalService" {
				object.SetNamespace(w.Namespace)
			}
			object.Object["spec"] = about(object.Object["spec"], services[number%len(services)].Name)
		},
		Reasons: []string{"CriticalService Protected", "ServiceFallback Protected", "Maintenance Announced"},
		Declared: func() (gone func()) {
			pod := w.responder("responder-1")
			return func() { w.Delete(pod) }
		},
	}

	run.Declare()
	for _, service := range services {
		w.Eventually(w.published(service)).Should(BeEmpty(), "nothing stays of objects that are gone")
		w.gone(service)
	}
}

// about is a spec of the examples that names, or selects by its label, a Service.
func about(value any, service string) any {
	switch of := value.(type) {
	case map[string]any:
		for key := range of {
			of[key] = about(of[key], service)
		}
	case []any:
		for i := range of {
			of[i] = about(of[i], service)
		}
	case string:
		if of == "web" || of == "b" {
			return service
		}
	}
	return value
}
