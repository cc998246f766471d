package operator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/critical-service/operator/internal/operator"
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
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // A client that has gone gets no answer.
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	filter, err := operator.Reviewed(config, server.Client())
	g.Expect(err).NotTo(HaveOccurred())
	handler, err := filter(logr.Discard(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
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
		review.Status.Allowed = allowed && review.Spec.User == "prometheus" && len(review.Spec.Groups) == 1 &&
			attributes != nil && attributes.Verb == "get" && attributes.Path == "/metrics"
		return review
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
	broken := func(string, []byte) any { return nil }
	tests := map[string]struct {
		api           func(string, []byte) any
		path          string
		authorization string
		want          int
		asked         int32
	}{
		"whoever has the right":                            {says("good", true), "/metrics", "Bearer good", 200, 2},
		"in whatever case the scheme is written":           {says("good", true), "/metrics", "bearer  good ", 200, 2},
		"not who has a token, but not the right":           {says("good", false), "/metrics", "Bearer good", 403, 2},
		"not for another path":                             {says("good", true), "/debug", "Bearer good", 403, 2},
		"not who shows a token that nobody knows":          {says("good", true), "/metrics", "Bearer bad", 401, 1},
		"not who shows none, and the API server is spared": {says("good", true), "/metrics", "", 401, 0},
		"not who shows an empty one":                       {says("", true), "/metrics", "Bearer ", 401, 0},
		"not who shows a password":                         {says("good", true), "/metrics", "Basic good", 401, 0},
		"not who shows a book":                             {says("good", true), "/metrics", "Bearer " + strings.Repeat("a", 20<<10), 401, 0},
		"nobody while the API server cannot tell":          {broken, "/metrics", "Bearer good", 500, 1},
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
		g.Expect(scraped(handler, "/metrics", "Bearer bad")).To(Equal(http.StatusUnauthorized))
	}
	g.Expect(asked.Load()).To(Equal(int32(2+5)), "two questions about the one, and one each time about a token that nobody knows")
}

// Whoever makes tokens up, or uses one for paths that they make up, does not keep the
// answers about others from being remembered.
func TestJunkDoesNotFillWhatIsRemembered(t *testing.T) {
	tests := map[string]func(handler http.Handler, i int) (got, want int){
		"tokens that nobody knows": func(handler http.Handler, i int) (int, int) {
			return scraped(handler, "/metrics", fmt.Sprintf("Bearer junk-%d", i)), http.StatusUnauthorized
		},
		"paths that nobody may get": func(handler http.Handler, i int) (int, int) {
			return scraped(handler, fmt.Sprintf("/junk-%d", i), "Bearer good"), http.StatusForbidden
		},
	}
	for name, junk := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			handler, asked := guarded(t, says("good", true))
			for i := range operator.MostAnswers + 10 {
				got, want := junk(handler, i)
				g.Expect(got).To(Equal(want))
			}
			before := asked.Load()
			for range 5 {
				g.Expect(scraped(handler, "/metrics", "Bearer good")).To(Equal(http.StatusOK))
			}
			g.Expect(asked.Load()-before).To(Equal(int32(2)), "one TokenReview and one SubjectAccessReview")
		})
	}
}

// Only so many questions are under way; who has no time to wait for a place is sent
// away without one.
func TestTheAPIServerIsNotKeptBusy(t *testing.T) {
	g := NewWithT(t)
	answers, works := make(chan struct{}), says("good", true)
	handler, asked := guarded(t, func(kind string, body []byte) any {
		<-answers
		return works(kind, body)
	})
	var waiting sync.WaitGroup
	release := sync.OnceFunc(func() {
		close(answers)
		waiting.Wait()
	})
	defer release()
	for i := range operator.ReviewsAtOnce {
		waiting.Go(func() { scraped(handler, "/metrics", fmt.Sprintf("Bearer junk-%d", i)) })
	}
	g.Eventually(asked.Load).Should(Equal(int32(operator.ReviewsAtOnce)))

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	request := httptest.NewRequestWithContext(gone, http.MethodGet, "/metrics", http.NoBody)
	request.Header.Set("Authorization", "Bearer good")
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	g.Expect(answer.Code).To(Equal(http.StatusServiceUnavailable))

	release()
	g.Expect(scraped(handler, "/metrics", "Bearer good")).To(Equal(http.StatusOK), "there are places again")
}

// That nobody can tell is not remembered.
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
	g.Expect(scraped(handler, "/metrics", "Bearer good")).To(Equal(http.StatusInternalServerError))
	isBroken.Store(false)
	g.Expect(scraped(handler, "/metrics", "Bearer good")).To(Equal(http.StatusOK))
}
