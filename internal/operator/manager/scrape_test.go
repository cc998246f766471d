package manager_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/critical-service/operator/internal/operator/manager"
)

// guarded is a handler behind the filter of the metrics, and the number of
// questions that the API server was asked.
func guarded(t *testing.T, api func(kind string, body []byte) any) (http.Handler, *atomic.Int32) {
	t.Helper()
	g, asked := NewWithT(t), &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var body json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&body) // The clients send JSON.
		answer := api(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:], body)
		if answer == nil {
			w.WriteHeader(http.StatusForbidden) // The library does not repeat the question after this one.
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // A client that has gone gets no answer.
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	handler, err := manager.Authorized(config, server.Client(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("broken") {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	g.Expect(err).NotTo(HaveOccurred())
	return handler, asked
}

// says is an API server that knows one token, and what its owner may do.
func says(token string, allowed bool) func(string, []byte) any {
	return func(kind string, body []byte) any {
		if kind == "tokenreviews" {
			review := &authenticationv1.TokenReview{}
			_ = json.Unmarshal(body, review)
			review.APIVersion, review.Kind = "authentication.k8s.io/v1", "TokenReview"
			review.Status.Authenticated = review.Spec.Token == token
			review.Status.User.Username, review.Status.User.Groups = "prometheus", []string{"scrapers"}
			return review
		}
		review := &authorizationv1.SubjectAccessReview{}
		_ = json.Unmarshal(body, review)
		review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SubjectAccessReview"
		attributes := review.Spec.NonResourceAttributes
		review.Status.Allowed = allowed && review.Spec.User == "prometheus" && strings.Contains(strings.Join(review.Spec.Groups, " "), "scrapers") &&
			attributes != nil && attributes.Verb == "get" && attributes.Path == "/metrics"
		return review
	}
}

// fails is an API server that cannot be asked one kind of question.
func fails(kind string) func(string, []byte) any {
	return func(asked string, body []byte) any {
		if asked == kind {
			return nil
		}
		return says("good", true)(asked, body)
	}
}

func scraped(handler http.Handler, path, authorization string) int {
	request := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer.Code
}

func TestWhoMayReadTheMetrics(t *testing.T) {
	tests := map[string]struct {
		api           func(string, []byte) any
		path          string
		authorization string
		want          int
		asked         int32
	}{
		"a client with the right":                           {says("good", true), "/metrics", "Bearer good", 200, 2},
		"in whatever case the scheme is written":            {says("good", true), "/metrics", "bearer good ", 200, 2},
		"also when the metrics themselves fail":             {says("good", true), "/metrics?broken", "Bearer good", 500, 2},
		"not one with a token, but without the right":       {says("good", false), "/metrics", "Bearer good", 403, 2},
		"not for another path":                              {says("good", true), "/debug", "Bearer good", 403, 2},
		"not one with an unknown token":                     {says("good", true), "/metrics", "Bearer bad", 401, 1},
		"not one without any, and the API server is spared": {says("good", true), "/metrics", "", 401, 0},
		"not one with an empty token":                       {says("", true), "/metrics", "Bearer ", 401, 0},
		"not one with a password":                           {says("good", true), "/metrics", "Basic good", 401, 0},
		"no one while tokens cannot be checked":             {fails("tokenreviews"), "/metrics", "Bearer good", 401, 1},
		"no one while rights cannot be checked":             {fails("subjectaccessreviews"), "/metrics", "Bearer good", 500, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			handler, asked := guarded(t, test.api)
			g.Expect(scraped(handler, test.path, test.authorization)).To(Equal(test.want))
			g.Expect(asked.Load()).To(Equal(test.asked), "questions to the API server")
		})
	}
}

func TestTheAPIServerIsNotAskedAtEachScrape(t *testing.T) {
	g := NewWithT(t)
	handler, asked := guarded(t, says("good", true))
	for range 5 {
		g.Expect(scraped(handler, "/metrics", "Bearer good")).To(Equal(http.StatusOK))
	}
	g.Expect(asked.Load()).To(Equal(int32(2)), "one TokenReview and one SubjectAccessReview")
}

// A failure is not remembered.
func TestAnAPIServerThatIsBackIsAskedAgain(t *testing.T) {
	g := NewWithT(t)
	isBroken, works := &atomic.Bool{}, says("good", true)
	isBroken.Store(true)
	handler, _ := guarded(t, func(kind string, body []byte) any {
		if isBroken.Load() {
			return nil
		}
		return works(kind, body)
	})
	g.Expect(scraped(handler, "/metrics", "Bearer good")).To(Equal(http.StatusUnauthorized))
	isBroken.Store(false)
	g.Expect(scraped(handler, "/metrics", "Bearer good")).To(Equal(http.StatusOK))
}

// from asks for metrics with a token, from an address.
func from(handler http.Handler, address, token string) int {
	request := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
	request.RemoteAddr = address
	request.Header.Set("Authorization", "Bearer "+token)
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer.Code
}

// Any Pod can make up tokens, and each costs the API server a TokenReview.
func TestMadeUpTokensAreFew(t *testing.T) {
	g := NewWithT(t)
	handler, asked := guarded(t, says("good", true))
	g.Expect(from(handler, "10.0.0.1:1000", "good")).To(Equal(http.StatusOK))
	before := asked.Load()
	codes := map[int]int{}
	for i := range 1000 {
		codes[from(handler, "10.0.0.2:1000", fmt.Sprint("made-up-", i))]++
	}
	g.Expect(codes).To(And(HaveLen(2), HaveKey(http.StatusUnauthorized), HaveKey(http.StatusTooManyRequests)))
	g.Expect(asked.Load()-before).To(BeNumerically("<", 100), "questions to the API server")
	g.Expect(from(handler, "10.0.0.2:1000", "good")).To(Equal(http.StatusOK), "a known token costs nothing, wherever it comes from")

	handler, _ = guarded(t, says("good", true))
	for i := range 100 {
		from(handler, "10.0.0.2:1000", fmt.Sprint("made-up-", i))
	}
	g.Expect(from(handler, "10.0.0.1:1000", "good")).To(Equal(http.StatusOK), "another address has a rate of its own")
}

// Who may read metrics is asked for each method, and one may be of any name.
func TestMetricsAreOnlyGot(t *testing.T) {
	g := NewWithT(t)
	handler, asked := guarded(t, says("good", true))
	request := httptest.NewRequest("MADE-UP", "/metrics", http.NoBody)
	request.Header.Set("Authorization", "Bearer good")
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	g.Expect(answer.Code).To(Equal(http.StatusMethodNotAllowed))
	g.Expect(asked.Load()).To(BeZero())
}
