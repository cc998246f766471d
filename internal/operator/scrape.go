package operator

import (
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// authorized serves only clients whose token the API server accepts, and which may
// get the path. It is controller-runtime's filter but for one status: to a token
// that is not valid the library answers 500, and Kubernetes' own components 401.
func authorized(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
	filter, err := filters.WithAuthenticationAndAuthorization(config, client)
	if err != nil {
		return nil, err
	}
	return func(log logr.Logger, served http.Handler) (http.Handler, error) {
		handler, err := filter(log, served)
		if err != nil {
			return nil, err
		}
		return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			handler.ServeHTTP(&unauthorized{ResponseWriter: w, request: request}, request)
		}), nil
	}, nil
}

// unauthorized answers 401 in place of 500 as long as no token was accepted. The
// library removes a token from the request once it is.
type unauthorized struct {
	http.ResponseWriter
	request *http.Request
}

// WriteHeader replaces the status.
func (u *unauthorized) WriteHeader(status int) {
	if status == http.StatusInternalServerError && u.request.Header.Get("Authorization") != "" {
		status = http.StatusUnauthorized
	}
	u.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach what is below.
func (u *unauthorized) Unwrap() http.ResponseWriter { return u.ResponseWriter }
