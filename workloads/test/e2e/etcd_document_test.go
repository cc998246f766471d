//go:build e2e

package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/internal/etcd/snapshot"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
)

// documentGroup is the group of the workshop.
const documentGroup = "etcdaas.devoxx2018"

// cli is the workshop's program, in the scenario's namespace. It returns what it prints, and what it says besides.
func (w *world) cli(arguments ...string) (out, said string) {
	w.t.Helper()
	program := filepath.Join(w.t.TempDir(), "etcdaas-cli")
	built, err := exec.CommandContext(w.ctx, "go", "build", "-o", program, "../../cmd/etcdaas-cli").CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), string(built))
	command := exec.CommandContext(w.ctx, program, append(arguments, "-namespace", w.namespace)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+w.Kubeconfig)
	var stdout, stderr strings.Builder
	command.Stdout, command.Stderr = &stdout, &stderr
	w.Expect(command.Run()).To(Succeed(), stderr.String())
	return stdout.String(), stderr.String()
}

// TestAnETCDInstanceByTheDocument types the workshop "Extend the Kubernetes API with your own services", in its order.
func TestAnETCDInstanceByTheDocument(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, component := range []string{"apiserver", "articles"} {
		folder := filepath.Join("..", "..", "config", component)
		w.kubectl("apply", "-k", folder)
		// No namespace is deleted to its end while an APIService has no answer.
		t.Cleanup(func() { w.kubectl("delete", "--ignore-not-found", "-k", folder) })
	}
	w.Eventually(func() (string, error) { return w.tryKubectl("get", "--raw", "/apis/"+documentGroup+"/v1alpha1") }).
		WithTimeout(etcdSlow).Should(ContainSubstring("etcdinstances/backup"))

	// The CRD: api-versions, get, create, delete.
	w.Expect(w.kubectl("api-versions")).To(ContainSubstring(documentGroup + "/v1alpha1\n"))
	file := filepath.Join(t.TempDir(), "myinstance.yml")
	w.Expect(os.WriteFile(file, []byte("apiVersion: "+documentGroup+"/v1alpha1\nkind: ETCDInstance\nmetadata:\n  name: myinstance\n"), 0o600)).To(Succeed())
	resource := "etcdinstances." + documentGroup
	w.Expect(w.kubectl("create", "-f", file)).To(Equal("etcdinstance." + documentGroup + "/myinstance created\n"))
	w.Expect(w.kubectl("get", resource)).To(MatchRegexp(`(?m)^myinstance `))
	w.Expect(w.kubectl("describe", resource, "myinstance")).To(ContainSubstring("API Version:  " + documentGroup + "/v1alpha1"))
	w.Expect(w.kubectl("delete", resource, "myinstance")).To(ContainSubstring("deleted"))

	// The CLI, and the controller: an etcd of an even size, as the document has it.
	out, _ := w.cli("-create", "-name", "my-super-etcd", "-replicas", "2")
	w.Expect(out).To(Equal("etcdinstance/my-super-etcd created\n"))
	instance := &workloadsv1alpha1.ETCDInstance{ObjectMeta: w.named("my-super-etcd")}
	w.etcdRuns(instance, 2)
	out, _ = w.cli("-list")
	w.Expect(out).To(MatchRegexp(`my-super-etcd:\n\tspec: .*"replicas":2.*\n\tstatus: .*"state":"running"`))

	// The API server: the subresource, by its URL and by the CLI.
	put, err := w.etcdClient(instance).Put(w.ctx, "key", "value")
	w.Expect(err).NotTo(HaveOccurred())
	path := "/apis/" + documentGroup + "/v1alpha1/namespaces/" + w.namespace + "/etcdinstances/my-super-etcd/backup"
	file = filepath.Join(t.TempDir(), "s.db")
	curled, err := exec.CommandContext(w.ctx, "curl", "--fail-with-body", "--silent", "--show-error", "--output", file, w.proxy()+path).CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), string(curled))
	w.holdsRevision(file, put.Header.Revision)
	out, said := w.cli("-backup", "-name", "my-super-etcd")
	w.Expect(said).To(ContainSubstring("this is a backup for " + w.namespace + "/my-super-etcd"))
	w.Expect(os.WriteFile(file, []byte(out), 0o600)).To(Succeed())
	w.holdsRevision(file, put.Header.Revision)

	w.etcdMoves(instance)
	out, _ = w.cli("-delete", "-name", "my-super-etcd")
	w.Expect(out).To(Equal("etcdinstance/my-super-etcd deleted\n"))
	w.gone(instance)
}

// holdsRevision checks a snapshot.
func (w *world) holdsRevision(file string, revision int64) {
	w.t.Helper()
	contents, err := snapshot.Inspect(file)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(contents.Revision).To(BeNumerically(">=", revision))
}

// proxy is the address of a `kubectl proxy`, as the document has it.
func (w *world) proxy() string {
	w.t.Helper()
	command := exec.CommandContext(w.ctx, kubectl, "proxy", "--port=0", "--kubeconfig="+w.Kubeconfig)
	out, err := command.StdoutPipe()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(command.Start()).To(Succeed())
	w.t.Cleanup(func() { _, _ = command.Process.Kill(), command.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	w.Expect(err).NotTo(HaveOccurred())
	_, address, isServing := strings.Cut(strings.TrimSpace(line), "Starting to serve on ")
	w.Expect(isServing).To(BeTrue(), line)
	return "http://" + address
}

// etcdMoves takes a backup under load by the plugin, and restores a second instance from it.
func (w *world) etcdMoves(from *workloadsv1alpha1.ETCDInstance) {
	w.t.Helper()
	client := w.etcdClient(from)
	stop := w.etcdWrites(client)
	file := filepath.Join(w.t.TempDir(), "s.db")
	w.plugin("etcd", "backup", from.Name, "--file", file)
	contents, err := snapshot.Inspect(file)
	w.Expect(err).NotTo(HaveOccurred())
	acknowledged := stop()

	storage := w.etcdVolumes(1)
	w.Expect(w.plugin("etcd", "restore", "my-new-etcd", "--file", file, "--storage", storage.Size, "--storage-class", *storage.StorageClassName)).
		To(ContainSubstring("etcdinstance/my-new-etcd restored\n"))
	restored := &workloadsv1alpha1.ETCDInstance{ObjectMeta: w.named("my-new-etcd")}
	w.etcdRuns(restored, 1)
	w.etcdHolds(w.etcdClient(restored), acknowledged, contents.Revision)
}

// plugin is what `kubectl critsvc` prints, in the scenario's namespace.
func (w *world) plugin(arguments ...string) string {
	w.t.Helper()
	output, err := exec.CommandContext(w.ctx, plugin, append(arguments, "--kubeconfig="+w.Kubeconfig, "--namespace="+w.namespace)...).CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), string(output))
	return string(output)
}
