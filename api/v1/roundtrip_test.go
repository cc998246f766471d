package v1_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/webhook/crdschema"
)

// seeds is how many random objects every law is held against. A failure names
// its seed, which always makes the same object.
const seeds = 2000

func forRandom[T any](t *testing.T, law func(g Gomega, object *T)) {
	t.Helper()
	for seed := range int64(seeds) {
		object := new(T)
		newFiller(seed).Fill(object)
		g := NewWithT(t).ConfigureWithFailHandler(func(message string, _ ...int) {
			t.Helper()
			t.Fatalf("seed %d: %s", seed, message)
		})
		law(g, object)
	}
}

func TestAV1ObjectComesBackFromV2AsItWas(t *testing.T) {
	forRandom(t, func(g Gomega, object *criticalv1.CriticalService) {
		sent := object.DeepCopy()
		hub := toV2(g, object)
		g.Expect(object).To(Equal(sent), "a conversion must not change what it converts")
		g.Expect(schema(g).Validate(&hub.Spec)).To(BeEmpty(), "what v1 accepts, v2 must accept")
		g.Expect(hub.Annotations).NotTo(HaveKey(criticalv1.AnnotationV2Spec))
		expectSame(g, fromV2(g, hub), object)
	})
}

func TestAV2ObjectComesBackFromV1AsItWas(t *testing.T) {
	forRandom(t, func(g Gomega, object *criticalv2.CriticalService) {
		sent := object.DeepCopy()
		spoke := fromV2(g, object)
		g.Expect(object).To(Equal(sent), "a conversion must not change what it converts")
		g.Expect(spoke.Spec.MatchLabels).NotTo(BeEmpty(), "v1 demands at least one label")
		g.Expect(spoke.Annotations).NotTo(HaveKey(criticalv1.AnnotationMatchLabelsOrder))
		expectSame(g, toV2(g, spoke), object)
	})
}

// The API server sends JSON and gets JSON, and stores what it gets.
func TestAV1ObjectComesBackFromV2ByteForByte(t *testing.T) {
	forRandom(t, func(g Gomega, object *criticalv1.CriticalService) {
		first := encode(g, object)
		hub := decode[criticalv2.CriticalService](g, encode(g, toV2(g, decode[criticalv1.CriticalService](g, first))))
		g.Expect(encode(g, fromV2(g, hub))).To(Equal(first))
	})
}

func TestAV2ObjectComesBackFromV1ByteForByte(t *testing.T) {
	forRandom(t, func(g Gomega, object *criticalv2.CriticalService) {
		first := encode(g, object)
		spoke := decode[criticalv1.CriticalService](g, encode(g, fromV2(g, decode[criticalv2.CriticalService](g, first))))
		g.Expect(encode(g, toV2(g, spoke))).To(Equal(first))
	})
}

func TestTheOrderOfV1LabelsIsKeptWhileV2IsEdited(t *testing.T) {
	forRandom(t, func(g Gomega, object *criticalv1.CriticalService) {
		hub := toV2(g, object)
		newFiller(1).Fill(&hub.Spec.Fallback)
		hub.Spec.ActivationDelay.Duration = 1
		back := fromV2(g, hub)
		g.Expect(back.Spec).To(Equal(object.Spec))
		expectSame(g, toV2(g, back), hub)
	})
}

func TestWhatIsEditedInV1WinsAndTheRestOfV2IsKept(t *testing.T) {
	forRandom(t, func(g Gomega, object *criticalv2.CriticalService) {
		spoke := fromV2(g, object)
		spoke.Spec.Namespace = "edited"
		want := object.DeepCopy()
		want.Spec.Namespaces, want.Spec.NamespaceSelector = []string{"edited"}, nil
		expectSame(g, toV2(g, spoke), want)

		spoke.Spec.MatchLabels = []criticalv1.LabelMatch{{Key: "edited", Value: "too"}}
		want.Spec.ServiceSelector.MatchLabels = map[string]string{"edited": "too"}
		expectSame(g, toV2(g, spoke), want)
		g.Expect(fromV2(g, toV2(g, spoke)).Spec).To(Equal(spoke.Spec), "who edits v1 sees in v1 what they wrote")
	})
}

// FuzzConvertWithAnnotationOnV1 lets a v1 object carry anything where a v2 spec
// belongs. Whatever it is, the v2 object is valid, and the two versions agree.
func FuzzConvertWithAnnotationOnV1(f *testing.F) {
	for _, annotation := range hostileSpecs {
		f.Add(annotation, "shop", "frontend")
	}
	for seed := range int64(50) {
		object := &criticalv2.CriticalService{}
		newFiller(seed).Fill(object)
		f.Add(fromV2(NewWithT(f), object).Annotations[criticalv1.AnnotationV2Spec], "", "x")
	}
	f.Fuzz(func(t *testing.T, annotation, namespace, value string) {
		g := NewWithT(t)
		object := &criticalv1.CriticalService{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{criticalv1.AnnotationV2Spec: annotation}},
			Spec:       criticalv1.CriticalServiceSpec{Namespace: namespace, MatchLabels: []criticalv1.LabelMatch{{Key: "role", Value: value}}},
		}
		bare := object.DeepCopy()
		bare.Annotations = nil
		valid := schema(g).Valid(&toV2(g, bare).Spec)

		hub := toV2(g, object)
		g.Expect(hub.Annotations).To(BeEmpty())
		if valid {
			g.Expect(schema(g).Validate(&hub.Spec)).To(BeEmpty(), "no annotation brings in what the schema refuses")
			back := fromV2(g, hub)
			g.Expect(back.Spec).To(Equal(object.Spec), "the fields of v1 win over the annotation")
			expectSame(g, toV2(g, back), hub)
		}
	})
}

// FuzzConvertWithAnnotationOnV2 lets a v2 object carry anything where the order
// of v1 labels belongs.
func FuzzConvertWithAnnotationOnV2(f *testing.F) {
	for _, annotation := range hostileOrders {
		f.Add(annotation)
	}
	f.Fuzz(func(t *testing.T, annotation string) {
		g := NewWithT(t)
		object := &criticalv2.CriticalService{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{criticalv1.AnnotationMatchLabelsOrder: annotation}},
			Spec:       criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"a": "1", "b": "2", "c": "3"}}},
		}
		spoke := fromV2(g, object)
		g.Expect(spoke.Spec.MatchLabels).To(ConsistOf(
			criticalv1.LabelMatch{Key: "a", Value: "1"}, criticalv1.LabelMatch{Key: "b", Value: "2"}, criticalv1.LabelMatch{Key: "c", Value: "3"}))
		hub := toV2(g, spoke)
		g.Expect(hub.Spec).To(Equal(object.Spec))
		g.Expect(fromV2(g, hub)).To(Equal(spoke), "the order settles at once")
	})
}

func toV2(g Gomega, from *criticalv1.CriticalService) *criticalv2.CriticalService {
	to := &criticalv2.CriticalService{}
	g.Expect(criticalv1.ConvertToV2(from, to, schema(g).Valid)).To(Succeed())
	return to
}

func schema(g Gomega) *crdschema.Schema {
	schema, err := crdschema.Load()
	g.Expect(err).NotTo(HaveOccurred())
	return schema
}

func fromV2(g Gomega, from *criticalv2.CriticalService) *criticalv1.CriticalService {
	to := &criticalv1.CriticalService{}
	g.Expect(criticalv1.ConvertFromV2(from, to)).To(Succeed())
	return to
}

// expectSame compares as Kubernetes does: an empty list is an absent one. Where
// it matters, the tests that compare bytes tell them apart.
func expectSame[T any](g Gomega, got, want *T) {
	if !equality.Semantic.DeepEqual(got, want) {
		g.Expect(string(encode(g, got))).To(MatchJSON(encode(g, want)))
		g.Expect(got).To(Equal(want))
	}
}

func encode(g Gomega, object any) []byte {
	data, err := json.Marshal(object)
	g.Expect(err).NotTo(HaveOccurred())
	return data
}

func decode[T any](g Gomega, data []byte) *T {
	object := new(T)
	g.Expect(json.Unmarshal(data, object)).To(Succeed())
	return object
}
