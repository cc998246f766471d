package conversion_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/workloads/internal/conversion"
)

// post sends a review over HTTP, as the API server does, and reads the answer.
func post(t *testing.T, desired string, objects ...string) *apiextensionsv1.ConversionReview {
	t.Helper()
	g := NewWithT(t)
	handler, err := conversion.Handler()
	g.Expect(err).NotTo(HaveOccurred())
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)

	review := &apiextensionsv1.ConversionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "ConversionReview"},
		Request:  &apiextensionsv1.ConversionRequest{UID: "705ab4f5-6393-11e8-b7cc-42010a800002", DesiredAPIVersion: desired},
	}
	for _, object := range objects {
		data, err := yaml.YAMLToJSON([]byte(object))
		g.Expect(err).NotTo(HaveOccurred())
		review.Request.Objects = append(review.Request.Objects, runtime.RawExtension{Raw: data})
	}
	body, err := json.Marshal(review)
	g.Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/convert", strings.NewReader(string(body)))
	g.Expect(err).NotTo(HaveOccurred())
	response, err := server.Client().Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	g.Expect(response.StatusCode).To(Equal(http.StatusOK), "a failure is an answer, too")

	answered := &apiextensionsv1.ConversionReview{}
	g.Expect(json.NewDecoder(response.Body).Decode(answered)).To(Succeed())
	g.Expect(answered.APIVersion + " " + answered.Kind).To(Equal("apiextensions.k8s.io/v1 ConversionReview"))
	g.Expect(answered.Response.UID).To(Equal(review.Request.UID), "the API server knows its answers by it")
	return answered
}

// What the webhook of the source document's exercise has to answer: it takes the requests for
// AppConfigs, converts them by desiredAPIVersion, and returns the objects with the status that
// belongs to it. The document leaves open where the version stands in v1.
func TestTheWebhookOfTheSourceDocument(t *testing.T) {
	const (
		v1 = `{apiVersion: mycrd.com/v1, kind: AppConfig, metadata: {name: shop, namespace: web}, spec: {appName: shop, config: {LOG_LEVEL: debug}}}`
		v2 = `{apiVersion: mycrd.com/v2, kind: AppConfig, metadata: {name: shop, namespace: web}, spec: {appName: shop, configuration: {settings: {LOG_LEVEL: debug}}}}`

		versioned   = `{apiVersion: mycrd.com/v2, kind: AppConfig, metadata: {name: till, namespace: web}, spec: {appName: till, configuration: {settings: {A: b}, version: "1.4"}}}`
		versionedV1 = `{apiVersion: mycrd.com/v1, kind: AppConfig, metadata: {name: till, namespace: web, annotations: {mycrd.com/appconfig-version: "1.4"}}, spec: {appName: till, config: {A: b}}}`
	)
	for sentence, test := range map[string]struct {
		desired       string
		objects, want []string
		// why is the message of a failure.
		why string
	}{
		"from v1 to v2":                       {desired: "mycrd.com/v2", objects: []string{v1}, want: []string{v2}},
		"from v2 to v1":                       {desired: "mycrd.com/v1", objects: []string{v2}, want: []string{v1}},
		"with a version, from v2 to v1":       {desired: "mycrd.com/v1", objects: []string{versioned}, want: []string{versionedV1}},
		"with a version, from v1 to v2":       {desired: "mycrd.com/v2", objects: []string{versionedV1}, want: []string{versioned}},
		"several come back in their order":    {desired: "mycrd.com/v2", objects: []string{v1, versionedV1, v1}, want: []string{v2, versioned, v2}},
		"no objects are converted to nothing": {desired: "mycrd.com/v2"},
		"what is not valid is left out, and the schema refuses it afterwards": {
			desired: "mycrd.com/v2", objects: []string{strings.Replace(v1, "{LOG_LEVEL: debug}", "{LOG_LEVEL: 7}", 1)},
			want: []string{strings.Replace(v2, "settings: {LOG_LEVEL: debug}", "", 1)},
		},
		"a version that there is not": {
			desired: "mycrd.com/v3", objects: []string{v1},
			why: `desiredAPIVersion "mycrd.com/v3" is not known to this release, which converts to mycrd.com/v1 and mycrd.com/v2`,
		},
		"a group that there is not": {
			desired: "example.com/v2", objects: []string{v1}, why: `desiredAPIVersion "example.com/v2" is not known to this release`,
		},
		"a kind that there is not, among good ones": {
			desired: "mycrd.com/v2", objects: []string{v1, `{apiVersion: mycrd.com/v1, kind: Database, metadata: {name: orders, namespace: web}}`},
			why: `no conversion to mycrd.com/v2: Database web/orders: no kind "Database" is registered`,
		},
		"one that is of the version already": {
			desired: "mycrd.com/v2", objects: []string{v2}, why: "AppConfig web/shop: conversion is not allowed between same type",
		},
		"metadata that no object has": {
			desired: "mycrd.com/v2", objects: []string{v1, `{apiVersion: mycrd.com/v1, kind: AppConfig, metadata: [shop]}`},
			why: "no conversion to mycrd.com/v2: object 2: ",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			response := post(t, test.desired, test.objects...).Response
			if test.why != "" {
				g.Expect(response.Result.Status).To(Equal(metav1.StatusFailure))
				g.Expect(response.Result.Message).To(ContainSubstring(test.why))
				g.Expect(response.ConvertedObjects).To(BeEmpty())
				return
			}
			g.Expect(response.Result.Status).To(Equal(metav1.StatusSuccess), response.Result.Message)
			g.Expect(response.ConvertedObjects).To(HaveLen(len(test.want)))
			for i, want := range test.want {
				expected, err := yaml.YAMLToJSON([]byte(want))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(withoutNulls(g, response.ConvertedObjects[i].Raw)).To(MatchJSON(expected))
			}
		})
	}
}

// withoutNulls takes off creationTimestamp where it is null: objects of tests have none.
func withoutNulls(g Gomega, data []byte) []byte {
	var object map[string]any
	g.Expect(json.Unmarshal(data, &object)).To(Succeed())
	if meta := object["metadata"].(map[string]any); meta["creationTimestamp"] == nil {
		delete(meta, "creationTimestamp")
	}
	result, err := json.Marshal(object)
	g.Expect(err).NotTo(HaveOccurred())
	return result
}
