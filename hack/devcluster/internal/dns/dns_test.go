package dns

import (
	"strings"
	"testing"

	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

func TestManifestsForwardOnlyWhereThereIsAServer(t *testing.T) {
	for name, forward := range map[string]bool{"a machine with DNS servers": true, "a machine without": false} {
		t.Run(name, func(t *testing.T) {
			got, err := Manifests(topology.IPv4, forward)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(got), "forward .") != forward {
				t.Errorf("CoreDNS would not start:\n%s", got)
			}
			if !strings.Contains(string(got), "\n        prometheus :9153\n") || strings.Contains(string(got), "\n\n") {
				t.Errorf("the template's own lines show:\n%s", got)
			}
		})
	}
}
