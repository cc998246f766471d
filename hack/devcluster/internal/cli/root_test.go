//go:build linux

package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/critical-service/operator/hack/devcluster/internal/build"
)

func TestTheVersionOfKubernetesIsChosenWhereItIsBuilt(t *testing.T) {
	const unknown = `there is no Kubernetes "1.2" in hack/devcluster/components: choose 1.28, `
	for name, tc := range map[string]struct {
		arguments         []string
		variable, wantErr string
	}{
		"by the flag":                                 {[]string{"assets", "--kubernetes", "1.2"}, "", unknown},
		"by the environment":                          {[]string{"assets"}, "1.2", unknown},
		"of everything, too":                          {[]string{"build"}, "1.2", unknown},
		"by the flag rather than the environment":     {[]string{"assets", "--kubernetes=1.2"}, "1.28", unknown},
		"and not by what only asks a running cluster": {[]string{"kubeconfig"}, "1.2", "the cluster is not running"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(build.KubernetesVariable, tc.variable)
			root := newRoot()
			root.SetOut(io.Discard)
			root.SetArgs(append(tc.arguments, "--state-dir", t.TempDir()))
			if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("got %v, want %q", err, tc.wantErr)
			}
		})
	}
}
