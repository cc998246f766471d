package review_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/critical-service/operator/internal/operator/webhook/review"
)

// A kind of two versions whose objects called "bad" are not converted.
type (
	hub   struct{ corev1.Pod }
	spoke struct{ corev1.Pod }
)

var group = schema.GroupVersion{Group: "example.com", Version: "v2"}

func newHandler(g Gomega) http.Handler {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(group.WithKind("Thing"), &hub{})
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: group.Group, Version: "v1", Kind: "Thing"}, &spoke{})
	converter, err := conversion.NewHubSpokeConverter(&hub{}, conversion.NewSpokeConverter(&spoke{},
		func(_ context.Context, from *hub, to *spoke) error { to.ObjectMeta = from.ObjectMeta; return nil },
		func(_ context.Context, from *spoke, to *hub) error {
			to.ObjectMeta = from.ObjectMeta
			if from.Name == "bad" {
				return errors.New("it has no end")
			}
			return nil
		}))(scheme)
	g.Expect(err).NotTo(HaveOccurred())
	registry := conversion.NewRegistry()
	g.Expect(registry.RegisterConverter(group.WithKind("Thing").GroupKind(), converter)).To(Succeed())
	return review.Handler(scheme, registry)
}

func thing(name string) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"namespace":"shop","name":%q}}`, name)
}

func TestWhatIsAnsweredForEveryObject(t *testing.T) {
	for sentence, test := range map[string]struct {
		desired string
		objects []string
		want    string
	}{
		"all good ones are converted": {
			"example.com/v2", []string{thing("a"), thing("b")}, "",
		},
		"a bad one among good ones is named, with what is wrong": {
			"example.com/v2", []string{thing("a"), thing("bad"), thing("b")}, "no conversion to example.com/v2: Thing shop/bad: it has no end",
		},
		"every bad one is named": {
			"example.com/v2", []string{thing("bad"), `{"apiVersion":"example.com/v1","kind":"Other","metadata":{"name":"x"}}`, thing("a")},
			`no conversion to example.com/v2: Thing shop/bad: it has no end; Other x: no kind "Other" is registered for version "example.com/v1"`,
		},
		"one without a name is named by its place": {
			"example.com/v2", []string{thing("a"), `{"apiVersion":"example.com/v1","kind":"Thing","metadata":7}`},
			"no conversion to example.com/v2: object 2: ",
		},
		"a version that is not known is named, with those that are": {
			"example.com/v3", []string{thing("a")}, `desiredAPIVersion "example.com/v3" is not known to this release, which converts to example.com/v1 and example.com/v2`,
		},
		"what is no version is named too": {
			"a/b/c", []string{thing("a")}, `desiredAPIVersion "a/b/c" is not known to this release`,
		},
		"a message is no list of thousands": {
			"example.com/v2", strings.Split(strings.TrimSuffix(strings.Repeat(thing("bad")+"\n", 100), "\n"), "\n"),
			"Thing shop/bad: it has no end; and more",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			body := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"42","desiredAPIVersion":%q,"objects":[%s]}}`,
				test.desired, strings.Join(test.objects, ","))
			recorder := httptest.NewRecorder()
			newHandler(g).ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/convert", strings.NewReader(body)))

			g.Expect(recorder.Code).To(Equal(http.StatusOK))
			var answered apiextensionsv1.ConversionReview
			g.Expect(json.Unmarshal(recorder.Body.Bytes(), &answered)).To(Succeed())
			g.Expect(answered.Kind).To(Equal("ConversionReview"))
			g.Expect(answered.Request).To(BeNil())
			g.Expect(answered.Response.UID).To(BeEquivalentTo("42"))
			if test.want == "" {
				g.Expect(answered.Response.Result.Status).To(Equal(metav1.StatusSuccess))
				g.Expect(answered.Response.ConvertedObjects).To(HaveLen(len(test.objects)))
				return
			}
			g.Expect(answered.Response.Result.Status).To(Equal(metav1.StatusFailure))
			g.Expect(answered.Response.ConvertedObjects).To(BeEmpty(), "the API server takes all or nothing")
			g.Expect(answered.Response.Result.Message).To(ContainSubstring(test.want))
			g.Expect(len(answered.Response.Result.Message)).To(BeNumerically("<", 1000))
		})
	}
}

func TestWhatIsNoReviewIsABadRequest(t *testing.T) {
	for _, body := range []string{"", "no JSON", "{}", `{"request":null}`} {
		g := NewWithT(t)
		recorder := httptest.NewRecorder()
		newHandler(g).ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/convert", strings.NewReader(body)))
		g.Expect(recorder.Code).To(Equal(http.StatusBadRequest), body)
	}
}
