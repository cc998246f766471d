package metricsserver

import (
	"bytes"
	"testing"

	"github.com/critical-service/operator/hack/devcluster/internal/build"
	"github.com/critical-service/operator/hack/devcluster/internal/layout"
)

func TestTheManifestsRunWhatIsBuilt(t *testing.T) {
	made, err := Image(build.NewBuilder(layout.Repository("../../../.."), nil))
	if err != nil {
		t.Fatal(err)
	}
	for what, line := range map[string]string{
		"image": "image: " + made.Names[0], "APIService": "name: " + API,
		"kubelet's authority": "- --kubelet-certificate-authority=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
	} {
		if count := bytes.Count(Manifests(), []byte(line+"\n")); count != 1 {
			t.Errorf("the manifests have the %s %d times (%q): run internal/metricsserver/render.sh", what, count, line)
		}
	}
}
