//go:build e2e

package e2e

import (
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
	raw, err := exec.CommandContext(w.ctx, kubectl, "get", "--raw", path, "--kubeconfig="+w.Kubeconfig).Output()
	w.Expect(err).NotTo(HaveOccurred())
	w.holdsRevision(raw, put.Header.Revision)
	out, said := w.cli("-backup", "-name", "my-super-etcd")
	w.Expect(said).To(ContainSubstring("this is a backup for " + w.namespace + "/my-super-etcd"))
	w.holdsRevision([]byte(out), put.Header.Revision)

	out, _ = w.cli("-delete", "-name", "my-super-etcd")
	w.Expect(out).To(Equal("etcdinstance/my-super-etcd deleted\n"))
	w.gone(instance)
}

// holdsRevision checks that a snapshot is whole, and has at least a revision.
func (w *world) holdsRevision(content []byte, revision int64) {
	w.t.Helper()
	name := filepath.Join(w.t.TempDir(), "s.db")
	w.Expect(os.WriteFile(name, content, 0o600)).To(Succeed())
	contents, err := snapshot.Inspect(name)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(contents.Revision).To(BeNumerically(">=", revision))
}
