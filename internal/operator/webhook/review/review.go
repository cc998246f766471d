// Package review answers the API server's requests to convert objects between the versions
// of a kind: with controller-runtime's handler, and where that fails with the reason of every
// object. The handler ends at the first object that it cannot convert, and does not name it.
package review

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

// mostObjects is how many objects a message names. The library logs every failure, so that
// no more are looked for.
const mostObjects = 10

// Handler answers ConversionReviews by the converters of a registry, for the kinds that the
// scheme knows. The bodies that it is given must be bounded.
func Handler(scheme *runtime.Scheme, registry conversion.Registry) http.Handler {
	return &handler{library: conversion.NewWebhookHandler(scheme, registry), scheme: scheme}
}

type handler struct {
	library http.Handler
	scheme  *runtime.Scheme
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "read the request: "+err.Error(), http.StatusBadRequest)
		return
	}
	given := h.ask(r, body)
	var result struct {
		Response struct{ Result metav1.Status }
	}
	failed := json.Unmarshal(given.body.Bytes(), &result) == nil && result.Response.Result.Status == metav1.StatusFailure
	if failed {
		given.body = h.explain(r, body, given.body)
	}
	w.WriteHeader(given.status)
	_, _ = w.Write(given.body.Bytes()) // A client that has gone needs no answer.
}

// explain replaces the message of an answer by one that names the objects.
func (h *handler) explain(r *http.Request, asked []byte, given *bytes.Buffer) *bytes.Buffer {
	var question, answered apiextensionsv1.ConversionReview
	if json.Unmarshal(asked, &question) != nil || json.Unmarshal(given.Bytes(), &answered) != nil {
		return given
	}
	answered.Response.Result.Message = h.why(r, question.Request)
	explained, err := json.Marshal(&answered)
	if err != nil {
		return given
	}
	return bytes.NewBuffer(explained)
}

// why says of every object that cannot be converted why not.
func (h *handler) why(r *http.Request, request *apiextensionsv1.ConversionRequest) string {
	version, err := schema.ParseGroupVersion(request.DesiredAPIVersion)
	if err != nil || !h.scheme.IsVersionRegistered(version) {
		return fmt.Sprintf("desiredAPIVersion %q is not known to this release, which converts to %s", request.DesiredAPIVersion, h.versions())
	}
	var problems []string
	for i := 0; i < len(request.Objects) && len(problems) <= mostObjects; i++ {
		if problem := h.whyNot(r, request, i); problem != "" {
			problems = append(problems, problem)
		}
	}
	if len(problems) > mostObjects {
		problems[mostObjects] = "and more"
	}
	return fmt.Sprintf("no conversion to %s: %s", request.DesiredAPIVersion, strings.Join(problems, "; "))
}

// whyNot says why one object cannot be converted; nothing if it can.
func (h *handler) whyNot(r *http.Request, request *apiextensionsv1.ConversionRequest, index int) string {
	one := *request
	one.Objects = request.Objects[index : index+1]
	body, err := json.Marshal(&apiextensionsv1.ConversionReview{Request: &one})
	if err != nil {
		return fmt.Sprintf("object %d: %v", index+1, err)
	}
	var answered apiextensionsv1.ConversionReview
	if err := json.Unmarshal(h.ask(r, body).body.Bytes(), &answered); err != nil {
		return fmt.Sprintf("object %d: %v", index+1, err)
	}
	if answered.Response.Result.Status == metav1.StatusSuccess {
		return ""
	}
	return nameOf(one.Objects[0].Raw, index) + ": " + answered.Response.Result.Message
}

// nameOf names an object as far as it can be read.
func nameOf(object []byte, index int) string {
	var about metav1.PartialObjectMetadata
	if json.Unmarshal(object, &about) != nil || about.Kind == "" || about.Name == "" {
		return fmt.Sprintf("object %d", index+1)
	}
	name := about.Name
	if about.Namespace != "" {
		name = about.Namespace + "/" + name
	}
	return about.Kind + " " + name
}

func (h *handler) versions() string {
	var versions []string
	for kind := range h.scheme.AllKnownTypes() {
		if version := kind.GroupVersion().String(); !slices.Contains(versions, version) {
			versions = append(versions, version)
		}
	}
	slices.Sort(versions)
	return strings.Join(versions, " and ")
}

// ask gives a body to the library's handler, and takes its answer.
func (h *handler) ask(r *http.Request, body []byte) *answer {
	request := r.Clone(r.Context())
	request.Body = io.NopCloser(bytes.NewReader(body))
	given := &answer{header: http.Header{}, status: http.StatusOK, body: &bytes.Buffer{}}
	h.library.ServeHTTP(given, request)
	return given
}

// answer is a response that is kept.
type answer struct {
	header http.Header
	status int
	body   *bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *answer) Write(data []byte) (int, error) { return a.body.Write(data) }
