// Package registry is an image registry that serves every image name. It keeps
// each image under its full name (quay.io/x/y), and containerd's mirror requests,
// which name the original registry in a query parameter, are mapped to that.
package registry

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// apiPrefix starts the path of every request that names a repository.
const apiPrefix = "/v2/"

// namespaceParameter is how containerd tells a mirror which registry it stands for.
const namespaceParameter = "ns"

// Repository returns the name under which this registry keeps a repository of a
// host. Its own addresses stand for no host: what was pushed to 127.0.0.1:5000/x/y
// is pulled as such. A colon may not be in a repository name, so a port is
// joined by an underscore, which may not be in a host name.
func Repository(host, repository string, ownAddresses ...string) string {
	if slices.Contains(ownAddresses, host) {
		return repository
	}
	return strings.ReplaceAll(host, ":", "_") + "/" + repository
}

// mapNamespace rewrites mirror requests to the full name of the image.
func mapNamespace(next http.Handler, ownAddresses []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		namespace := r.URL.Query().Get(namespaceParameter)
		rest, isRepository := strings.CutPrefix(r.URL.Path, apiPrefix)
		if namespace == "" || !isRepository || rest == "" || strings.HasPrefix(rest, "_") {
			next.ServeHTTP(w, r)
			return
		}
		mapped := r.Clone(r.Context())
		mapped.URL = &url.URL{Path: apiPrefix + Repository(namespace, rest, ownAddresses...), RawQuery: r.URL.RawQuery}
		next.ServeHTTP(w, mapped)
	})
}
