//go:build e2e

package olm

import (
	"bytes"
	"context"
	"os/exec"
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
