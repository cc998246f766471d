package stories_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/crdtest"
	"github.com/critical-service/operator/test/testenv"
)

const (
	// fewObjects are declared in every run of the tests, and more by `make generated-objects`, from another seed.
	fewObjects = 120
	theSeed    = 17
	// atATime is how many objects are declared together.
	atATime = 120
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

// An object that the API server accepts settles, and one that it refuses is refused in one sentence that names the field.
func TestAGeneratedObjectSettlesOrIsRefused(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	service := w.down("web", func(s *corev1.Service) { s.Labels["a"] = "b" })
	number, seed := fromEnvironment(t, "OBJECTS", fewObjects), fromEnvironment(t, "SEED", theSeed)
	random := rand.New(rand.NewPCG(uint64(seed), 0)) //nolint:gosec // To be repeated.
	kinds := generators(t)

	accepted := 0
	for first := 0; first < number; first += atATime {
		objects := make([]*unstructured.Unstructured, min(atATime, number-first))
		for i := range objects {
			objects[i] = w.declared(first+i, kinds[(first+i)%len(kinds)].Next(random))
		}
		accepted += w.settled(objects)
	}
	t.Logf("%d objects from seed %d: %d accepted, all of which settled, and %d refused", number, seed, accepted, number-accepted)
	w.Eventually(w.published(service)).Should(BeEmpty(), "nothing stays of objects that are gone")
	w.gone(service)
	w.Expect(w.operator.Log("")).NotTo(ContainSubstring("panic"))
}

func fromEnvironment(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	number, err := strconv.Atoi(text)
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), name)
	return number
}

// declared is a generated object with what the world needs in it.
func (w *world) declared(number int, content map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: content}
	object.SetName(w.Unique(strconv.Itoa(number)))
	object.SetLabels(map[string]string{labelWorld: w.Namespace})
	if object.GetKind() != "CriticalService" {
		object.SetNamespace(w.Namespace)
	}
	return object
}

// settled creates objects, waits until the operator has reported each that the API server accepts, and deletes them. It
// counts those.
func (w *world) settled(objects []*unstructured.Unstructured) int {
	w.T.Helper()
	isAccepted := make([]bool, len(objects))
	w.eachAtOnce(len(objects), func(i int) {
		declared := fmt.Sprint(objects[i].Object)
		if err := w.Cluster.Client.Create(w.T.Context(), objects[i]); err != nil {
			w.Expect(unreadable(err)).To(BeEmpty(), declared)
			return
		}
		isAccepted[i] = true
	})
	w.eachAtOnce(len(objects), func(i int) {
		if isAccepted[i] {
			w.Eventually(w.isReported(objects[i])).Should(BeTrue(), "it is not reported: %v", objects[i].Object)
		}
	})
	w.eachAtOnce(len(objects), func(i int) {
		if isAccepted[i] {
			w.Delete(objects[i])
			w.Eventually(func() bool { return w.Exists(objects[i]) }).Should(BeFalse(), "it stays: %v", objects[i].Object)
		}
	})
	return len(objects) - len(slices.DeleteFunc(isAccepted, func(is bool) bool { return is }))
}

// isReported reports whether the status of an object is about it as it is.
func (w *world) isReported(object *unstructured.Unstructured) func() bool {
	return func() bool {
		if err := w.Cluster.Client.Get(w.T.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return false
		}
		observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		return observed == object.GetGeneration() && len(conditions) > 0
	}
}

// insides are what no user should have to read.
var insides = regexp.MustCompile(`%!|&\{|\bmap\[|interface \{\}|0x[0-9a-f]{6}|panic|nil pointer|goroutine|x-kubernetes|runtime error`)

// unreadable says what is wrong with a refusal; it is empty if nothing is.
func unreadable(err error) string {
	text := err.Error()
	switch {
	case !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
		return "it is no refusal of an object: " + text
	case !strings.Contains(text, "spec"):
		return "it names no field: " + text
	case strings.Contains(text, "\n"):
		return "it is of several lines: " + text
	case insides.MatchString(text):
		return "it shows insides: " + text
	}
	return ""
}
