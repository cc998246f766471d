package stories_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

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
	// atATime is how many objects that the API server accepted exist together.
	atATime = 20
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

	var batch []*unstructured.Unstructured
	accepted, refused := 0, 0
	for i := range number {
		object := &unstructured.Unstructured{Object: kinds[i%len(kinds)].Next(random)}
		object.SetName(w.Unique(strconv.Itoa(i)))
		object.SetLabels(map[string]string{labelWorld: w.Namespace})
		if object.GetKind() != "CriticalService" {
			object.SetNamespace(w.Namespace)
		}
		declared := fmt.Sprintf("object %d of seed %d: %v", i, seed, object.Object)
		err := w.Cluster.Client.Create(t.Context(), object)
		if err != nil {
			refused++
			w.Expect(unreadable(err)).To(BeEmpty(), declared)
		} else {
			accepted++
			batch = append(batch, object)
		}
		if len(batch) == atATime || i == number-1 {
			w.settled(batch)
			batch = nil
		}
	}
	t.Logf("%d objects from seed %d: %d accepted, all of which settled, and %d refused", number, seed, accepted, refused)
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

// settled waits until the operator has reported each object as it is, and deletes them.
func (w *world) settled(objects []*unstructured.Unstructured) {
	w.T.Helper()
	for _, object := range objects {
		w.Eventually(func() string {
			if err := w.Cluster.Client.Get(w.T.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				return err.Error()
			}
			observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
			conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
			if observed != object.GetGeneration() || len(conditions) == 0 {
				return fmt.Sprint("it is not reported yet: ", object.Object)
			}
			return ""
		}).WithTimeout(2 * time.Minute).Should(BeEmpty())
	}
	for _, object := range objects {
		w.Delete(object)
		w.Eventually(func() bool { return w.Exists(object) }).Should(BeFalse(), "%s %s stays", object.GetKind(), object.GetName())
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
