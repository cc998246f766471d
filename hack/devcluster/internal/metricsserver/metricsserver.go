// Package metricsserver is metrics-server as the devcluster runs it: its manifests and its
// image. It says what Pods use of CPU and memory, which is what autoscalers scale by.
package metricsserver

import (
	_ "embed"

	"github.com/critical-service/operator/hack/devcluster/internal/build"
	"github.com/critical-service/operator/hack/devcluster/internal/image"
	"github.com/critical-service/operator/hack/devcluster/internal/olm"
)

//go:embed metrics-server.yaml
var manifests []byte

// Manifests are all objects of metrics-server.
func Manifests() []byte { return manifests }

// API is the APIService, available when there is something to read.
const API = "v1beta1.metrics.k8s.io"

// repository is where the manifests' image is.
const repository = "registry.k8s.io/metrics-server/metrics-server"

// Image is that of the version that is pinned.
func Image(builder olm.Builder) (olm.Image, error) {
	program, err := builder.Binary(build.MetricsServer)
	if err != nil {
		return olm.Image{}, err
	}
	version, err := builder.Version(build.MetricsServer)
	if err != nil {
		return olm.Image{}, err
	}
	return olm.Image{
		Names: []string{repository + ":" + version},
		Content: image.Scratch{
			Files: []image.File{image.Copy("metrics-server", program)}, User: "1000", Entrypoint: []string{"/metrics-server"},
		},
	}, nil
}
