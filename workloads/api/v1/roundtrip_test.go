package v1_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// seeds is how many random objects every law is held against. A failure names its seed,
// which always makes the same object.
const seeds = 2000

// newFiller fills objects as the API server may have stored them.
func newFiller(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.3).NumElements(0, 3).
		Funcs(metafuzzer.Funcs(serializer.NewCodecFactory(runtime.NewScheme()))...).
		Funcs(fillTime, fillSettings)
}

// fillTime makes a time that JSON keeps: whole seconds.
func fillTime(to *metav1.Time, c randfill.Continue) {
	*to = metav1.Unix(c.Rand.Int63n(1<<32), 0).Rfc3339Copy()
}

// fillSettings makes some, none, or an empty map, which is not the same to the API server.
func fillSettings(to *workloadsv2.Settings, c randfill.Continue) {
	*to = nil
	if c.Bool() {
		*to = workloadsv2.Settings{}
		for range c.Rand.Intn(4) {
			(*to)[c.String(20)] = c.String(200)
		}
	}
}

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
	forRandom(t, func(g Gomega, object *workloadsv1.AppConfig) {
		newFiller(1).Fill(&object.Status)
		sent := object.DeepCopy()
		hub := toV2(object)
		g.Expect(object).To(Equal(sent), "a conversion must not change what it converts")
		expectSame(g, fromV2(hub), object)
	})
}

func TestAV2ObjectComesBackFromV1AsItWas(t *testing.T) {
	forRandom(t, func(g Gomega, object *workloadsv2.AppConfig) {
		sent := object.DeepCopy()
		spoke := fromV2(object)
		g.Expect(object).To(Equal(sent), "a conversion must not change what it converts")
		expectSame(g, toV2(spoke), object)
	})
}

// The API server sends JSON and gets JSON, and stores what it gets.
func TestBothVersionsComeBackByteForByte(t *testing.T) {
	forRandom(t, func(g Gomega, object *workloadsv2.AppConfig) {
		first := encode(g, object)
		spoke := decode[workloadsv1.AppConfig](g, encode(g, fromV2(decode[workloadsv2.AppConfig](g, first))))
		g.Expect(encode(g, toV2(spoke))).To(Equal(first))

		first = encode(g, spoke)
		hub := decode[workloadsv2.AppConfig](g, encode(g, toV2(decode[workloadsv1.AppConfig](g, first))))
		g.Expect(encode(g, fromV2(hub))).To(Equal(first))
	})
}

func TestTheTwoDoNotShareTheirSettings(t *testing.T) {
	g := NewWithT(t)
	spoke := &workloadsv1.AppConfig{Spec: workloadsv1.AppConfigSpec{Config: workloadsv2.Settings{"a": "1"}}}
	hub := toV2(spoke)
	hub.Spec.Configuration.Settings["a"] = "2"
	g.Expect(spoke.Spec.Config).To(HaveKeyWithValue("a", "1"))
	fromV2(hub).Spec.Config["a"] = "3"
	g.Expect(hub.Spec.Configuration.Settings).To(HaveKeyWithValue("a", "2"))
}

// FuzzConvert lets a v1 object carry anything where the version belongs, and anything as a
// setting. The result is one that v2 accepts, and v1 gets back what it wrote.
func FuzzConvert(f *testing.F) {
	f.Add("1.4", "LOG_LEVEL", "debug")
	f.Add("", "", "")
	f.Add("v\x00\xff", "index.html", "<h1>Back soon</h1>\n")
	f.Add("0123456789012345678901234567890123456789012345678901234567890123", "a", "64 characters are too many")
	f.Add("ééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé", "a", "63 of two bytes are not")
	f.Fuzz(func(t *testing.T, version, key, value string) {
		g := NewWithT(t)
		object := &workloadsv1.AppConfig{
			ObjectMeta: metav1.ObjectMeta{Name: "shop", Annotations: map[string]string{workloadsv2.AnnotationVersion: version}},
			Spec:       workloadsv1.AppConfigSpec{AppName: "shop", Config: workloadsv2.Settings{key: value}},
		}
		hub := toV2(object)
		if hub.Spec.Configuration.Version != "" {
			g.Expect(hub.Annotations).To(BeEmpty(), "v2 has a field for it")
		}
		g.Expect(utf8.RuneCountInString(hub.Spec.Configuration.Version)).To(BeNumerically("<=", 63), "the schema of v2 allows no more")
		g.Expect(hub.Spec.Configuration.Settings).To(HaveKeyWithValue(key, value))
		back := fromV2(hub)
		g.Expect(back).To(Equal(object))
		g.Expect(toV2(back)).To(Equal(hub))
	})
}

func toV2(from *workloadsv1.AppConfig) *workloadsv2.AppConfig {
	to := &workloadsv2.AppConfig{}
	workloadsv1.ConvertToV2(from, to)
	return to
}

func fromV2(from *workloadsv2.AppConfig) *workloadsv1.AppConfig {
	to := &workloadsv1.AppConfig{}
	workloadsv1.ConvertFromV2(from, to)
	return to
}

// expectSame compares as Kubernetes does, but for what has no type there. TypeMeta is set by
// the one who converts.
func expectSame[T workloadsv1.AppConfig | workloadsv2.AppConfig](g Gomega, got, want *T) {
	switch want := any(want).(type) {
	case *workloadsv1.AppConfig:
		want.TypeMeta = metav1.TypeMeta{}
	case *workloadsv2.AppConfig:
		want.TypeMeta = metav1.TypeMeta{}
	}
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
