package read

import (
	"net/http"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Bounded is a reader of the API server that takes no answer of more than some bytes: any
// user of a namespace can make objects of a megabyte each, as many as fit into it. The
// error is then an http.MaxBytesError.
func Bounded(mgr ctrl.Manager, most int64) (client.Reader, error) {
	config := rest.CopyConfig(mgr.GetConfig())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next, most} })
	through, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{HTTPClient: through, Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
}

type bounded struct {
	http.RoundTripper
	most int64
}

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, b.most)
	}
	return response, err
}
