package read

import (
	"net/http"

	"k8s.io/client-go/rest"
)

// consistent is a client, nil for one that is made of a configuration, that lists what is stored when it asks. Where an API
// server does not stream what there is (KEP-3157), client-go begins a cache with a list of any age (resourceVersion=0). It may
// be older than what the operator before this one has seen and written, as each API server answers it from its own memory, and
// one of several may lag. An operator that begins with it judges Services by endpoints that are long gone.
func consistent(config *rest.Config, from *http.Client) (*http.Client, error) {
	if from == nil {
		made, err := rest.HTTPClientFor(config)
		if err != nil {
			return nil, err
		}
		from = made
	}
	client := *from
	client.Transport = consistentLists{client.Transport}
	return &client, nil
}

type consistentLists struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t consistentLists) RoundTrip(request *http.Request) (*http.Response, error) {
	next := t.RoundTripper
	if next == nil {
		next = http.DefaultTransport
	}
	query := request.URL.Query()
	switch version := query.Get("resourceVersion"); {
	case request.Method != http.MethodGet || query.Has("watch") || version == "":
		return next.RoundTrip(request)
	case version == "0":
		query.Del("resourceVersion")
	case !query.Has("continue"):
		// client-go takes an answer in pages for that of a server without a memory, and would have the pages of all later lists, at
		// a version from where it was, read from etcd.
		query.Del("limit")
	}
	request = request.Clone(request.Context())
	request.URL.RawQuery = query.Encode()
	return next.RoundTrip(request)
}
