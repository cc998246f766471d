package operator

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// How long an answer of the API server about a token holds. A Prometheus asks every
// half a minute or so, and a right that was given should work soon.
const (
	allowedFor = time.Minute
	deniedFor  = 10 * time.Second
	// reviewWithin is how long the API server may take.
	reviewWithin = 5 * time.Second
	// longestToken is more than any token of a ServiceAccount has.
	longestToken = 16 << 10
	// mostAnswers are remembered, the latest, and about users that exist: whoever makes
	// tokens up must neither fill the memory nor crowd the others out.
	mostAnswers = 256
	// reviewsAtOnce are asked, and others wait: whoever makes tokens up must not keep
	// the API server busy.
	reviewsAtOnce = 8
)

// reviewed serves only those who show a token of somebody who may get the path, which
// is what controller-runtime's own filter does (metrics/filters). That one is built
// on k8s.io/apiserver, which would double the binary, and with it the memory of the
// responders, which run the same one.
func reviewed(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
	authentication, err := authenticationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	authorization, err := authorizationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	r := &reviewer{
		tokens: authentication.TokenReviews(), rights: authorization.SubjectAccessReviews(),
		answers: cache.NewLRUExpireCache(mostAnswers), places: make(chan struct{}, reviewsAtOnce),
	}
	return func(log logr.Logger, served http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			status, err := r.review(request)
			if err != nil {
				log.Error(err, "nobody can tell who may read the metrics")
			}
			if status != http.StatusOK {
				http.Error(w, http.StatusText(status), status)
				return
			}
			served.ServeHTTP(w, request)
		}), nil
	}, nil
}

type reviewer struct {
	tokens  authenticationclient.TokenReviewInterface
	rights  authorizationclient.SubjectAccessReviewInterface
	answers *cache.LRUExpireCache
	// places has one for every question that is under way.
	places chan struct{}
}

// question is what is asked about a request. The token itself is not kept.
type question struct {
	token      [sha256.Size]byte
	verb, path string
}

// review is the status that a request deserves.
func (r *reviewer) review(request *http.Request) (int, error) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(request.Header.Get("Authorization")), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > longestToken {
		return http.StatusUnauthorized, nil
	}
	asked := question{token: sha256.Sum256([]byte(token)), verb: strings.ToLower(request.Method), path: request.URL.Path}
	if known, found := r.answers.Get(asked); found {
		return known.(int), nil
	}
	ctx, cancel := context.WithTimeout(request.Context(), reviewWithin)
	defer cancel()
	select {
	case r.places <- struct{}{}:
		defer func() { <-r.places }()
	case <-ctx.Done():
		return http.StatusServiceUnavailable, nil
	}
	status, err := r.ask(ctx, token, asked)
	switch {
	case err != nil:
		return http.StatusInternalServerError, err
	case status == http.StatusOK:
		r.answers.Add(asked, status, allowedFor)
	case status == http.StatusForbidden:
		r.answers.Add(asked, status, deniedFor)
	}
	return status, nil
}

// ask asks the API server who shows a token, and whether they may.
func (r *reviewer) ask(ctx context.Context, token string, asked question) (int, error) {
	who, err := r.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("ask the API server whose token it is: %w", err)
	}
	if !who.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user := who.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	may, err := r.rights.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: asked.verb, Path: asked.path},
	}}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return 0, fmt.Errorf("ask the API server whether %s may %s %s: %w", user.Username, asked.verb, asked.path, err)
	case may.Status.Allowed:
		return http.StatusOK, nil
	default:
		return http.StatusForbidden, nil
	}
}
