// Package generated declares objects by the schemas of their kinds, and holds an operator to what becomes of them: one
// that the API server accepts settles, also when it gets another spec, and one that it refuses is refused in one sentence
// that names the field.
package generated

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/crdtest"
	"github.com/critical-service/operator/test/testenv"
)

const (
	// fewObjects are declared in every run of the tests, and more by `make generated-objects`, from another seed.
	fewObjects = 120
	theSeed    = 17
	// AtATime is how many objects are declared together.
	AtATime = 120
	// rest is how long an operator does nothing where all has settled: longer than it waits for a cache that is behind.
	rest = 1500 * time.Millisecond
	// patience is how long an object may take to settle: others wait for the same operator, and so do other tests.
	patience = 5 * time.Minute
)

// Run declares objects in a world.
type Run struct {
	*testenv.World
	// Kinds make the objects, in turn.
	Kinds []*crdtest.Generator
	// Operator is what is to report them.
	Operator *testenv.Operator
	// Prepare gives the object of a number what the world needs in it, and each spec that it gets later.
	Prepare func(number int, object *unstructured.Unstructured)
	// Reasons are kinds and reasons, for example "CriticalService Protected", with which some are to come to rest: an operator that
	// reports all of them as left alone would have done nothing.
	Reasons []string
	// Declared is called when objects are declared together, and returns what is to be done when they have gone; nil is nothing.
	Declared func() (gone func())
	// Made are the kinds of what the operator makes for these, for Kubernetes to delete with them, and Outlives reports
	// whether an object is to stay. Other orphans are a defect.
	Made     []schema.GroupVersionKind
	Outlives func(object *metav1.PartialObjectMetadata) bool

	// reported is how often objects of a kind came to rest with which reason.
	reported map[string]int
}

// Declare declares as many objects as OBJECTS says, from the seed SEED.
func (r *Run) Declare() {
	r.T.Helper()
	number, seed := testenv.Number(r.T, "OBJECTS", fewObjects), testenv.Number(r.T, "SEED", theSeed)
	random := rand.New(rand.NewPCG(uint64(seed), 0)) //nolint:gosec // To be repeated.
	r.reported = map[string]int{}
	accepted, changed := 0, 0
	for first := 0; first < number; first += AtATime {
		contents := make([]map[string]any, min(AtATime, number-first))
		for i := range contents {
			contents[i] = r.Kinds[(first+i)%len(r.Kinds)].Next(random)
		}
		objects, others := make([]*unstructured.Unstructured, len(contents)), make([]*unstructured.Unstructured, len(contents))
		for i := range contents {
			objects[i], others[i] = r.declared(first+i, contents[i]), r.declared(first+i, contents[r.another(i, len(contents))])
		}
		of, again := r.settled(objects, others)
		accepted, changed = accepted+of, changed+again
		r.Eventually(r.orphans).WithTimeout(patience).Should(gomega.BeEmpty())
	}
	r.Expect(r.Operator.Log("panic")).To(gomega.BeEmpty())
	r.T.Logf("%d objects from seed %d: %d accepted, all of which settled, and %d refused; %d of them got another spec, and settled again",
		number, seed, accepted, number-accepted, changed)
	r.T.Logf("with which reasons they were at rest, and how often: %v", r.reported)
	for _, reason := range r.Reasons {
		r.Expect(r.reported).To(gomega.HaveKey(reason))
	}
}

// declared is a generated object with what the world needs in it.
func (r *Run) declared(number int, content map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
	object.SetName(r.Unique(fmt.Sprintf("o%d", number)))
	r.Prepare(number, object)
	return object
}

// settled creates objects, gives each that the API server accepts the spec of its other, and deletes them. Each time it waits
// until the operator has reported all, and has come to rest. It counts what was accepted, and what was changed.
func (r *Run) settled(objects, others []*unstructured.Unstructured) (accepted, changed int) {
	r.T.Helper()
	isAccepted := r.each(objects, func(i int) error { return r.Cluster.Client.Create(r.T.Context(), objects[i]) })
	var created, next []*unstructured.Unstructured
	for i := range objects {
		if isAccepted[i] {
			created, next = append(created, objects[i]), append(next, others[i])
		}
	}
	gone := func() {}
	if r.Declared != nil {
		gone = r.Declared()
	}
	r.areSettled(created)
	isChanged := r.each(created, func(i int) error { return r.change(created[i], next[i]) })
	r.areSettled(created)
	r.EachAtOnce(len(created), func(i int) {
		r.Expect(client.IgnoreNotFound(r.Cluster.Client.Delete(r.T.Context(), created[i]))).To(gomega.Succeed())
		r.Eventually(func() bool { return r.Exists(created[i]) }).Should(gomega.BeFalse(), "it stays: %v", created[i].Object)
	})
	gone()
	return len(created), len(slices.DeleteFunc(isChanged, func(is bool) bool { return !is }))
}

// each sends objects, and reports which of them the API server accepts. What it refuses must be readable; one that is over may
// be gone.
func (r *Run) each(objects []*unstructured.Unstructured, send func(i int) error) []bool {
	r.T.Helper()
	isAccepted := make([]bool, len(objects))
	r.EachAtOnce(len(objects), func(i int) {
		err := send(i)
		isAccepted[i] = err == nil
		if client.IgnoreNotFound(err) != nil {
			r.Expect(unreadable(err)).To(gomega.BeEmpty(), "%v", objects[i].Object)
		}
	})
	return isAccepted
}

// another is the number of the next object of the kind and version of one, of so many.
func (r *Run) another(i, of int) int {
	if next := i + len(r.Kinds); next < of {
		return next
	}
	return i % len(r.Kinds)
}

// change gives an object the spec of another one.
func (r *Run) change(object, to *unstructured.Unstructured) error {
	patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/spec", "value": to.Object["spec"]}})
	if err != nil {
		return err
	}
	changed := object.DeepCopy()
	if err := r.Cluster.Client.Patch(r.T.Context(), changed, client.RawPatch(types.JSONPatchType, patch)); err != nil {
		return err
	}
	object.Object = changed.Object
	return nil
}

// areSettled waits until the operator has reported each object in sentences, and has come to rest.
func (r *Run) areSettled(objects []*unstructured.Unstructured) {
	r.T.Helper()
	r.EachAtOnce(len(objects), func(i int) {
		r.Eventually(r.isReported(objects[i])).WithTimeout(patience).Should(gomega.BeTrue(), "it is not reported: %v", objects[i].Object)
		r.Expect(obscure(objects[i])).To(gomega.BeEmpty(), "%v", objects[i].Object)
	})
	r.Eventually(func() time.Duration { return r.Operator.Idle(r.Namespace) }).WithTimeout(patience).Should(gomega.BeNumerically(">", rest), "the operator comes to rest")
	for _, object := range objects {
		r.reported[object.GetKind()+" "+reason(object)]++
	}
}

// reason is that of the condition Ready of an object, or else of its first one.
func reason(object *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	first := ""
	for _, condition := range conditions {
		of := condition.(map[string]any)
		if text := fmt.Sprint(of["reason"]); of["type"] == "Ready" {
			return text
		} else if first == "" {
			first = text
		}
	}
	return first
}

// isReported reports whether the status of an object is about it as it is. One that is to be deleted when it is over may be.
func (r *Run) isReported(object *unstructured.Unstructured) func() bool {
	_, mayEnd, _ := unstructured.NestedInt64(object.Object, "spec", "ttlSecondsAfterFinished")
	return func() bool {
		if !r.Exists(object) {
			return mayEnd
		}
		observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		return observed == object.GetGeneration() && len(conditions) > 0
	}
}

// insides are what no user should have to read.
var insides = regexp.MustCompile(`%!|&\{|\bmap\[|interface \{\}|0x[0-9a-f]{6}|panic|nil pointer|goroutine|x-kubernetes|runtime error`)

// obscure lists what the conditions of an object say that is no sentence for a user.
func obscure(object *unstructured.Unstructured) []string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	var texts []string
	for _, condition := range conditions {
		text, _, _ := unstructured.NestedString(condition.(map[string]any), "message")
		if text == "" || strings.Contains(text, "\n") || insides.MatchString(text) {
			texts = append(texts, fmt.Sprint(condition))
		}
	}
	return texts
}

// emptyListForText is what the API server says of an empty list in the place of a text, before the sentence of the rule that it
// could not evaluate.
const emptyListForText = "invalid data, expected string, got []interface {} evaluating rule: "

// named is a field of the spec, or the spec itself where a rule is about several.
var named = regexp.MustCompile(`\bspec(\.\w|\[|:)`)

// unreadable says what is wrong with a refusal; it is empty if nothing is.
func unreadable(err error) string {
	text := err.Error()
	switch {
	case !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
		return "it is no refusal of an object: " + text
	case !named.MatchString(text):
		return "it names no field: " + text
	case strings.Contains(text, "\n"):
		return "it is of several lines: " + text
	case insides.MatchString(strings.ReplaceAll(text, emptyListForText, "")):
		return "it shows insides: " + text
	}
	return ""
}
