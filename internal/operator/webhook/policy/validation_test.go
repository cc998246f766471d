package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/webhook/crdschema"
)

// What the questions below are about.
const (
	good   = `"serviceSelector": {"matchLabels": {"role": "frontend"}}`
	broken = `"serviceSelector": {"matchLabels": {"role": "front end"}}`
	delay  = `"activationDelay": "0.5ms", ` + good
	other  = `"activationDelay": "1s", ` + broken

	labels = `"matchLabels": [{"key": "role", "value": "frontend"}]`
)

func inV2(metadata, spec string) string {
	return `{"apiVersion": "mycrd.com/v2", "kind": "CriticalService", "metadata": {"name": "shop"` + metadata + `}, "spec": {` + spec + `}}`
}

func inV1(annotation, spec string) string {
	object := &criticalv1.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	if err := json.Unmarshal([]byte("{"+spec+"}"), &object.Spec); err != nil {
		panic(err)
	}
	if annotation != "" {
		object.Annotations = map[string]string{criticalv1.AnnotationV2Spec: annotation}
	}
	data, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func schema(g Gomega) *crdschema.Schema {
	schema, err := crdschema.Load()
	g.Expect(err).NotTo(HaveOccurred())
	return schema
}

// question is what the API server asks; old is empty for a create.
func question(version, object, old string) admission.Request {
	request := admissionv1.AdmissionRequest{
		UID: "one", Kind: metav1.GroupVersionKind{Group: "mycrd.com", Version: version, Kind: "CriticalService"},
		Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: []byte(object)},
	}
	if old != "" {
		request.Operation, request.OldObject = admissionv1.Update, runtime.RawExtension{Raw: []byte(old)}
	}
	return admission.Request{AdmissionRequest: request}
}

func TestWhatIsRefused(t *testing.T) {
	const annotation = "metadata.annotations[mycrd.com/v2-spec]"
	for sentence, test := range map[string]struct {
		version, object, old string
		// refused is the field and the beginning of what is said of it; empty is accepted.
		refused map[string]string
		// warned reports whether advice was asked for.
		warned bool
	}{
		"a good one is accepted, with advice": {version: "v2", object: inV2("", good), warned: true},
		"a selector that no label can fit": {version: "v2", object: inV2("", broken),
			refused: map[string]string{"spec.serviceSelector.matchLabels[role]": `Invalid value: "front end": a valid label must be`}},
		"a delay that v1 could not keep": {version: "v2", object: inV2("", delay),
			refused: map[string]string{"spec.activationDelay": `Invalid value: "500µs": must be a whole number of milliseconds`}},
		"a spec that is changed into a broken one": {version: "v2", object: inV2("", broken), old: inV2("", good),
			refused: map[string]string{"spec.serviceSelector.matchLabels[role]": "Invalid value"}},
		"a broken spec that is changed and stays broken": {version: "v2", object: inV2("", other), old: inV2("", broken),
			refused: map[string]string{"spec.serviceSelector.matchLabels[role]": "Invalid value"}},
		"a broken spec that is fixed is accepted":         {version: "v2", object: inV2("", good), old: inV2("", broken), warned: true},
		"a broken spec that is not changed is accepted":   {version: "v2", object: inV2(`, "labels": {"a": "b"}`, broken), old: inV2("", broken)},
		"a broken one that goes is accepted, changed too": {version: "v2", object: inV2(`, "deletionTimestamp": "2026-01-01T12:00:00Z"`, other), old: inV2("", broken)},
		"a good one that is not changed needs no advice":  {version: "v2", object: inV2(`, "labels": {"a": "b"}`, good), old: inV2("", good)},
		"a good one of v1 is accepted, with advice":       {version: "v1", object: inV1("", labels), warned: true},
		"one of v1 with a good annotation":                {version: "v1", object: inV1("{"+good+"}", labels), warned: true},
		"a broken annotation that is not changed":         {version: "v1", object: inV1("{"+broken+"}", labels), old: inV1("{"+broken+"}", labels)},
		"what cannot be read is for the schema":           {version: "v2", object: `{"spec": {"serviceSelector": 1}}`},
		"a version that this release does not know":       {version: "v3", object: inV2("", broken)},
		"an old one that cannot be read blocks no update": {version: "v2", object: inV2("", broken), old: `{"spec": 1}`},
		"an annotation with a selector that no label can fit": {
			version: "v1", object: inV1(`{"serviceSelector": {"matchLabels": {"role": "frontend"}, "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a b"]}]}}`, labels),
			refused: map[string]string{annotation: `Invalid value: is not a valid spec of v2: spec.serviceSelector.matchExpressions[0].values[0]: Invalid value: "a b"`},
		},
		"an annotation that the conversion would ignore": {version: "v1", object: inV1(`{"fallback": {"page": {"statusCode": 200}}, `+good+`}`, labels), old: inV1("", labels),
			refused: map[string]string{annotation: `Invalid value: is not a valid spec of v2: spec.fallback.page.statusCode: Invalid value: 200: spec.fallback.page.statusCode in body should be greater than or equal to 400`}},
		"an annotation that breaks a CEL rule": {version: "v1", object: inV1(`{"fallback": {"page": {}, "service": {"name": "a"}}, `+good+`}`, labels),
			refused: map[string]string{annotation: `Invalid value: is not a valid spec of v2: spec.fallback: Invalid value: fallback must have exactly one of`}},
		"an annotation that is no JSON": {version: "v1", object: inV1("nonsense", labels),
			refused: map[string]string{annotation: "Invalid value: is not a spec of v2: invalid character"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			v := &validator{schema: schema(g), advise: func(context.Context, *criticalv2.CriticalService) []string { return []string{"advice"} }}
			answer := v.Handle(t.Context(), question(test.version, test.object, test.old))
			g.Expect(answer.Allowed).To(Equal(len(test.refused) == 0), "%v", answer.Result)
			if test.warned {
				g.Expect(answer.Warnings).To(Equal([]string{"advice"}))
			} else {
				g.Expect(answer.Warnings).To(BeEmpty())
			}
			if answer.Allowed {
				return
			}
			g.Expect(apierrors.IsInvalid(&apierrors.StatusError{ErrStatus: *answer.Result})).To(BeTrue())
			g.Expect(answer.Result.Message).To(HavePrefix(`CriticalService.mycrd.com "shop" is invalid: `))
			g.Expect(answer.Result.Details.Causes).To(HaveLen(len(test.refused)))
			for _, cause := range answer.Result.Details.Causes {
				g.Expect(cause.Message).To(HavePrefix(test.refused[cause.Field]), cause.Field)
			}
		})
	}
}

// What the conversion would drop silently is rejected, so that no user loses a
// spec by a typo.
func TestWhatTheConversionIgnoresIsRefused(t *testing.T) {
	for _, annotation := range []string{
		"nonsense", "[]", "1", `{}`, `{"serviceSelector": {}}`, `{"fallback": {"page": {}, "service": {"name": "a"}}, ` + good + `}`,
		`{"namespaces": ["A"], ` + good + `}`, `{"activationDelay": "2h", ` + good + `}`,
	} {
		g := NewWithT(t)
		var object criticalv1.CriticalService
		g.Expect(json.Unmarshal([]byte(inV1(annotation, labels)), &object)).To(Succeed())
		var ignored, without criticalv2.CriticalService
		g.Expect(criticalv1.ConvertToV2(&object, &ignored, schema(g).Valid)).To(Succeed())
		object.Annotations = nil
		g.Expect(criticalv1.ConvertToV2(&object, &without, schema(g).Valid)).To(Succeed())
		g.Expect(ignored.Spec).To(Equal(without.Spec), annotation)

		v := &validator{schema: schema(g), advise: func(context.Context, *criticalv2.CriticalService) []string { return nil }}
		g.Expect(v.Handle(t.Context(), question("v1", inV1(annotation, labels), "")).Allowed).To(BeFalse(), annotation)
	}
}

// An answer that the API server cannot take for one lets the write pass.
func TestAPanicRefusesNothing(t *testing.T) {
	g := NewWithT(t)
	hook := hookOf(&validator{schema: schema(g), advise: func(context.Context, *criticalv2.CriticalService) []string { panic("a mistake of ours") }})
	server := httptest.NewServer(hook)
	defer server.Close()
	request := question("v2", inV2("", good), "").AdmissionRequest
	data, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: &request,
	})
	g.Expect(err).NotTo(HaveOccurred())
	response, err := http.Post(server.URL, "application/json", bytes.NewReader(data))
	if err == nil {
		_ = response.Body.Close()
	}
	g.Expect(err).To(HaveOccurred())
}
