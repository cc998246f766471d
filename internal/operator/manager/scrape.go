package manager

import (
	"crypto/sha256"
	"net"
	"net/http"

	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
)

// Unknown tokens are shown to the API server at these rates: from one address, and
// from all. A scraper needs one once in an hour, when its token is renewed.
const (
	tokensPerSecond, tokensAtOnce       = rate.Limit(1), 10
	tokensPerSecondOfAll, tokensOfAll   = rate.Limit(10), 50
	scrapersRemembered, sourcesObserved = 64, 256
)

// authorized serves only clients whose token the API server accepts, and which may
// get the path. It is controller-runtime's filter but for two things: to a token
// that is not valid the library answers 500, and Kubernetes' own components 401;
// and the library shows every unknown token to the API server.
func authorized(config *rest.Config, client *http.Client, served http.Handler) (http.Handler, error) {
	filter, err := filters.WithAuthenticationAndAuthorization(config, client)
	if err != nil {
		return nil, err
	}
	handler, err := filter(ctrl.Log.WithName("metrics"), served)
	if err != nil {
		return nil, err
	}
	known := newScrapers()
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		// Another method would be asked about at the API server each time.
		if request.Method != http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		seen, ok := known.admit(request)
		if !ok {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		handler.ServeHTTP(&unauthorized{ResponseWriter: w, request: request}, request)
		seen(isAccepted(request))
	}), nil
}

// isAccepted reports whether the API server has accepted the token of a request, as
// far as it was asked: the library then removes the token from the request.
func isAccepted(request *http.Request) bool { return request.Header.Get("Authorization") == "" }

// scrapers remembers whose tokens were accepted, and bounds the rate of others.
type scrapers struct {
	// accepted holds hashes of tokens.
	accepted *lru.Cache
	// sources holds a limiter for each address.
	sources *lru.Cache
	all     *rate.Limiter
}

func newScrapers() *scrapers {
	return &scrapers{
		accepted: lru.New(scrapersRemembered), sources: lru.New(sourcesObserved), all: rate.NewLimiter(tokensPerSecondOfAll, tokensOfAll),
	}
}

// admit reports whether a request may cost a question to the API server, and wants
// to know whether its token was accepted. One without a token costs nothing.
func (s *scrapers) admit(request *http.Request) (seen func(accepted bool), ok bool) {
	credentials := request.Header.Get("Authorization")
	if credentials == "" {
		return func(bool) {}, true
	}
	token := sha256.Sum256([]byte(credentials))
	if _, known := s.accepted.Get(token); !known && !(s.source(request.RemoteAddr).Allow() && s.all.Allow()) {
		return nil, false
	}
	return func(accepted bool) {
		if accepted {
			s.accepted.Add(token, nil)
		} else {
			s.accepted.Remove(token)
		}
	}, true
}

// source is the limiter of an address. Two may be made for one at the same moment,
// of which the later stays.
func (s *scrapers) source(address string) *rate.Limiter {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	if found, known := s.sources.Get(host); known {
		if limiter, is := found.(*rate.Limiter); is {
			return limiter
		}
	}
	limiter := rate.NewLimiter(tokensPerSecond, tokensAtOnce)
	s.sources.Add(host, limiter)
	return limiter
}

// unauthorized answers 401 in place of 500 as long as no token was accepted.
type unauthorized struct {
	http.ResponseWriter
	request *http.Request
}

// WriteHeader replaces the status.
func (u *unauthorized) WriteHeader(status int) {
	if status == http.StatusInternalServerError && !isAccepted(u.request) {
		status = http.StatusUnauthorized
	}
	u.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach what is below.
func (u *unauthorized) Unwrap() http.ResponseWriter { return u.ResponseWriter }
