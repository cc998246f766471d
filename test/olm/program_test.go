//go:build e2e

package olm

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/gomega"
)

// operatorSDK runs operator-sdk with a time limit, where images are reached under their real names, and
// returns what it writes on standard output and standard error.
func (w *world) operatorSDK(limit time.Duration, args ...string) (output, remarks string, err error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, limit)
	defer cancel()
	command := exec.CommandContext(ctx, devcluster, append([]string{"with-registry", "--", sdk}, args...)...)
	command.Dir = w.t.TempDir()
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	began := time.Now()
	err = command.Run()
	w.t.Logf("operator-sdk %s: %s", strings.Join(args, " "), time.Since(began).Round(time.Second))
	return stdout.String(), stderr.String(), err
}

// operatorSDKSucceeds runs operator-sdk, which must succeed.
func (w *world) operatorSDKSucceeds(args ...string) {
	w.t.Helper()
	output, remarks, err := w.operatorSDK(installLimit, args...)
	w.Expect(err).NotTo(HaveOccurred(), "operator-sdk %s\n%s%s", strings.Join(args, " "), output, remarks)
}

// runBundle runs the script of make run-bundle and make cleanup-bundle, for the previous version. Its
// bundle has a name of its own: that of the catalogs still stores v1.
func (w *world) runBundle(verb string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, 2*installLimit) // It builds first.
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join("..", "..", "hack", "run-bundle.sh"), verb)
	command.Env = append(os.Environ(), "VERSION="+string(previous), "IMG="+previous.operatorImage(),
		"BUNDLE_IMG="+registry+"operator-bundle:run-bundle", "SCORECARD_IMG="+registry+"operator-scorecard:v"+string(previous))
	began := time.Now()
	output, err := command.CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), "hack/run-bundle.sh %s\n%s", verb, output)
	w.t.Logf("hack/run-bundle.sh %s: %s", verb, time.Since(began).Round(time.Second))
}
