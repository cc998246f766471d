// Package image builds images and puts them into the local registry, each under
// its full name, so that manifests need no change to run on the cluster.
package image

import (
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/critical-service/operator/hack/devcluster/internal/registry"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// Reference is an image name in its two forms.
type Reference struct {
	// Full is the name in a Pod, as containerd writes it: docker.io/library/nginx:latest.
	Full string
	// Local is where the local registry keeps it.
	Local string
}

// ParseReference completes an image name as a container runtime would.
func ParseReference(image string) (Reference, error) {
	// The address of the local registry is plain HTTP, which the library needs as an option.
	ref, err := name.ParseReference(image, name.WeakValidation)
	if err != nil {
		return Reference{}, fmt.Errorf("%q is not an image name: %w", image, err)
	}
	host, repository := ref.Context().RegistryStr(), ref.Context().RepositoryStr()
	if host == name.DefaultRegistry {
		host = "docker.io"
	}
	separator := ":"
	if _, isDigest := ref.(name.Digest); isDigest {
		separator = "@"
	}
	suffix := separator + ref.Identifier()
	address := topology.RegistryAddress()
	return Reference{
		Full:  host + "/" + repository + suffix,
		Local: address + "/" + registry.Repository(host, repository, address) + suffix,
	}, nil
}
