package stories_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/critical-service/operator/internal/operator"
	"github.com/critical-service/operator/internal/operator/settings"
	"github.com/critical-service/operator/test/ports"
	"github.com/critical-service/operator/test/testenv"
)

// runAsOperator makes the test binary run the operator instead of tests.
const runAsOperator = "TEST_RUN_AS_OPERATOR"

// shipped runs the operator as main does, with the settings of the environment.
func shipped() error {
	flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	read := settings.Bind(flags, os.LookupEnv)
	s, err := read()
	if err != nil {
		return err
	}
	return operator.Run(ctrl.SetupSignalHandler(), s)
}

// replica is an operator in a process of its own.
type replica struct {
	*exec.Cmd
	health, metrics string
	output          *lockedBuffer
}

// lockedBuffer embeds nothing: exec would write past the lock by ReadFrom.
type lockedBuffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}

func startReplica(t *testing.T, name string) *replica {
	t.Helper()
	return startReplicaWith(t, name, cluster.OperatorKubeconfig)
}

func startReplicaWith(t *testing.T, name string, config []byte) *replica {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), name+".kubeconfig")
	if err := os.WriteFile(kubeconfig, config, 0o600); err != nil {
		t.Fatal(err)
	}
	itself, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{Cmd: exec.CommandContext(t.Context(), itself), health: ports.Free(t), metrics: ports.Free(t), output: &lockedBuffer{}}
	r.Env = append(os.Environ(), "WEBHOOK_PORT="+strconv.Itoa(ports.Port(t)), "WEBHOOK_CERT_DIR="+cluster.CertDir(), runAsOperator+"=1", "KUBECONFIG="+kubeconfig, "POD_NAMESPACE="+testenv.OperatorNamespace,
		"LOG_LEVEL=debug", "LOG_FORMAT=json", "HEALTH_PROBE_BIND_ADDRESS="+r.health, "METRICS_BIND_ADDRESS="+r.metrics, "METRICS_SECURE=false")
	r.Stdout, r.Stderr = r.output, r.output
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.Process.Kill() // It may have ended already.
		if t.Failed() {
			t.Logf("what %s logged:\n%s", name, r.output)
			t.Logf("the errors of %s:\n%s", name, strings.Join(r.errors(), ""))
		}
	})
	return r
}

// get asks a replica over HTTP, and answers with status and body.
func get(address, path string) func() string {
	return func() string {
		response, err := http.Get("http://" + address + path)
		if err != nil {
			return err.Error()
		}
		defer func() { _ = response.Body.Close() }()
		body, _ := io.ReadAll(response.Body)
		return fmt.Sprintf("%d %s", response.StatusCode, body)
	}
}

// Two replicas as a cluster runs them: separate processes, leader election, the
// ServiceAccount's permissions, probes and metrics.
func TestAReplicaThatIsKilledIsReplacedByTheNext(t *testing.T) {
	w := alone(t)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: "critical-service-operator"}}
	holder := func() string {
		if !w.Exists(lease) || lease.Spec.HolderIdentity == nil {
			return ""
		}
		return *lease.Spec.HolderIdentity
	}

	if w.Exists(lease) {
		w.Delete(lease) // Of an operator that a test before has killed: both would wait for its end, and one would lose.
	}
	first := startReplica(t, "first")
	w.Eventually(holder).ShouldNot(BeEmpty())
	firstHolder := holder()
	second := startReplica(t, "second")
	for _, r := range []*replica{first, second} {
		w.Eventually(get(r.health, "/readyz")).Should(HavePrefix("200"), "a replica that waits is ready too")
		w.Eventually(get(r.health, "/healthz")).Should(HavePrefix("200"))
		w.Eventually(get(r.metrics, "/metrics")).Should(ContainSubstring("leader_election_master_status"))
	}

	policy := w.policy("shop")
	service, fallback := w.covered("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.Expect(first.Process.Kill()).To(Succeed())
	w.Delete(fallback)
	w.answer(service, w.fallback(service))
	w.Expect(holder()).NotTo(Equal(firstHolder))
	// A replica that must stop while it takes over would log what it could not begin any more.
	w.Eventually(get(second.metrics, "/metrics")).Should(
		MatchRegexp(`controller_runtime_reconcile_total\{controller="storage-version",result="success"\} [1-9]`))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))

	w.Expect(second.Process.Signal(syscall.SIGTERM)).To(Succeed())
	w.Expect(second.Wait()).To(Succeed(), "a stop is no failure")
	w.Expect(holder()).To(BeEmpty(), "who stops gives the lease back")
	for _, r := range []*replica{first, second} {
		w.Expect(r.errors()).To(BeEmpty(), "the permissions must suffice")
	}
}

// errors are the lines of the log that tell of one, or of a permission that is missing.
func (r *replica) errors() []string {
	return slices.DeleteFunc(slices.Collect(strings.Lines(r.output.String())), func(line string) bool {
		// This is how controller-runtime takes note of a lease that it gave back itself, maybe in the midst of a renewal.
		isReleased := strings.Contains(line, "leader election lost") ||
			strings.Contains(line, `"logger":"leaderelection"`) && strings.Contains(line, `"error":"context canceled"`)
		// This is how it takes note of an answer that comes late on a busy machine.
		isLate := strings.Contains(line, "deadline exceeded") || strings.Contains(line, "Client.Timeout exceeded")
		return isReleased || isLate || !strings.Contains(line, "cannot ") && !strings.Contains(line, `"level":"error"`)
	})
}
