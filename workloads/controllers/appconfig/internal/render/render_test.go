package render_test

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers/appconfig/internal/render"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func theShop() *workloadsv2.AppConfig {
	return &workloadsv2.AppConfig{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "web", Name: "shop", UID: "app-1",
			Labels: map[string]string{"mycrd.com/responder": "content", "team": "web"},
		},
		Spec: workloadsv2.AppConfigSpec{AppName: "shop", Configuration: workloadsv2.Configuration{
			Settings: workloadsv2.Settings{"LOG_LEVEL": "debug", "index.html": "<h1>Back soon</h1>\n"}, Version: "1.4",
		}},
	}
}

func TestWhatAnAppConfigWantsToExist(t *testing.T) {
	g := NewWithT(t)
	workload := render.Workload{Kind: "Deployment", Namespace: "web", Name: "storefront", UID: "workload-1", Container: "app"}
	revision := render.Revision(theShop(), 7)
	var objects bytes.Buffer
	for _, object := range []any{revision, render.Page(theShop()), workload.Taking(revision.Name)} {
		data, err := yaml.Marshal(object)
		g.Expect(err).NotTo(HaveOccurred())
		objects.WriteString("---\n")
		objects.Write(data)
	}
	const golden = "testdata/shop.golden.yaml"
	if *update {
		g.Expect(os.WriteFile(golden, objects.Bytes(), 0o600)).To(Succeed())
	}
	want, err := os.ReadFile(golden)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects.String()).To(Equal(string(want)), "read what has changed; then go test ./controllers/appconfig/internal/render -update")
}

func TestTheNameOfARevision(t *testing.T) {
	name := func(change func(*workloadsv2.AppConfig)) string {
		app := theShop()
		change(app)
		return render.Revision(app, 1).Name
	}
	same := name(func(*workloadsv2.AppConfig) {})
	for sentence, test := range map[string]struct {
		change func(*workloadsv2.AppConfig)
		is     bool
	}{
		"is the same for the same settings":         {func(*workloadsv2.AppConfig) {}, true},
		"does not depend on what they are called":   {func(a *workloadsv2.AppConfig) { a.Spec.Configuration.Version = "2" }, true},
		"does not depend on the application's name": {func(a *workloadsv2.AppConfig) { a.Spec.AppName = "till" }, true},
		"is another for another value":              {func(a *workloadsv2.AppConfig) { a.Spec.Configuration.Settings["LOG_LEVEL"] = "info" }, false},
		"is another for one setting more":           {func(a *workloadsv2.AppConfig) { a.Spec.Configuration.Settings["A"] = "" }, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			if test.is {
				g.Expect(name(test.change)).To(Equal(same))
			} else {
				g.Expect(name(test.change)).NotTo(Equal(same))
			}
		})
	}
	g := NewWithT(t)
	longest := name(func(a *workloadsv2.AppConfig) { a.Name = strings.Repeat("s", 52) })
	g.Expect(validation.IsDNS1123Label(longest)).To(BeEmpty(), "the longest name is one that a label may hold")
	g.Expect(longest).To(HaveLen(63))
	g.Expect(render.Hash(nil)).To(Equal(render.Hash(map[string]string{})), "no settings are no settings")
}

// What a document shows is what a user will see.
func TestTheNamesInTheDocumentsAreTheRealOnes(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile("../../../../../docs/appconfig.md")
	g.Expect(err).NotTo(HaveOccurred())
	for name, settings := range map[string]workloadsv2.Settings{
		"shop": {"LOG_LEVEL": "debug", "COLOUR": "blue"}, "sorry": {"index.html": "<h1>Back soon</h1>"},
	} {
		g.Expect(string(page)).To(ContainSubstring(render.Name(&workloadsv2.AppConfig{ObjectMeta: metav1.ObjectMeta{Name: name}}, render.Hash(settings))))
	}
}

func TestTheLabelOfAPageIsCopiedAndTakenOff(t *testing.T) {
	g := NewWithT(t)
	app := theShop()
	config := render.Revision(app, 1)
	g.Expect(config.Labels).To(HaveKeyWithValue("mycrd.com/responder", "content"))
	app.Labels["mycrd.com/responder"] = "listeners"
	render.Publish(config, app)
	g.Expect(config.Labels).NotTo(HaveKey("mycrd.com/responder"), "no other value is copied: those are the core's own")
}

// The number is what users of a namespace may have written.
func TestTheNumberOfARevision(t *testing.T) {
	config := render.Revision(theShop(), 1)
	for text, want := range map[string]int64{
		"1": 1, "": 0, "x": 0, "-1": 0, "9007199254740992": 1 << 53, "9007199254740993": 0, "99999999999999999999999": 0,
	} {
		config.Annotations[workloadsv2.AnnotationRevision] = text
		NewWithT(t).Expect(render.RevisionOf(config)).To(Equal(want), text)
	}
	NewWithT(t).Expect(render.NextRevision(1<<53)).To(BeEquivalentTo(1<<53), "the last is not passed")
}

// FuzzHash looks for settings that differ and have one hash: those whose keys and values run
// into each other.
func FuzzHash(f *testing.F) {
	f.Add("a", "b", "c", "d")
	f.Add("a", "1:b", "a1", ":b")
	f.Add("", "", "0:", "0:")
	f.Fuzz(func(t *testing.T, key, value, otherKey, otherValue string) {
		settings := []map[string]string{
			{key: value}, {otherKey: otherValue}, {key: value, otherKey: otherValue}, {key: otherValue, otherKey: value}, {key + value: ""}, {},
		}
		for i, one := range settings {
			for _, other := range settings[i:] {
				if maps.Equal(one, other) != (render.Hash(one) == render.Hash(other)) {
					t.Errorf("%q and %q: %s, %s", one, other, render.Hash(one), render.Hash(other))
				}
			}
		}
		if !slices.Equal([]byte(render.Hash(settings[2])), []byte(render.Hash(maps.Clone(settings[2])))) {
			t.Error("the order counts")
		}
	})
}
