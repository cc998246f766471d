package live_test

import (
	"crypto/tls"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/certificate"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/etcd"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/live"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
)

// asked says what the listener for members answers to who shows a certificate.
func asked(address string, config *tls.Config) (int, error) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}, Timeout: 10 * time.Second}
	answer, err := client.Get("https://" + address + ":2380/members")
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// A client's certificate is of the same authority, and must let no client be a member.
func TestWithTLSMembersTakeEachOtherForOneAndNoClient(t *testing.T) {
	g := NewWithT(t)
	n := newNode(t)
	e := n.snap.Instance
	e.Spec.WithTLSBundle = true
	authority, err := certificate.NewAuthority("etcd-tls-ca", time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	signed := map[string]certificate.Data{}
	for name, leaf := range render.Leaves(e) {
		leaf.Addresses = []string{n.address(e.MemberName(0)), n.address(e.MemberName(1)), "127.0.0.1"} // In the place of names.
		signed[name], err = authority.Sign(leaf, time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.Mkdir(filepath.Join(n.folder, name), 0o700)).To(Succeed())
		for key, data := range signed[name] {
			g.Expect(os.WriteFile(filepath.Join(n.folder, name, key), data, 0o600)).To(Succeed())
		}
	}
	first := render.First(e)
	entries := []render.Entry{first, {Name: e.MemberName(1), Folder: first.Folder}}
	config, err := signed[e.ClientSecretName()].Client()
	g.Expect(err).NotTo(HaveOccurred())
	var members []live.Address
	for _, entry := range entries {
		at, file := n.address(entry.Name), filepath.Join(n.folder, entry.Name+".yaml")
		text := strings.NewReplacer("0.0.0.0", at, etcd.DataPath, filepath.Join(n.folder, entry.Name),
			etcd.ServerPath, filepath.Join(n.folder, e.ServerSecretName()), etcd.PeerPath, filepath.Join(n.folder, e.PeerSecretName())).
			Replace(n.local(render.Config(e, entries).Data[entry.Name+".yaml"]))
		g.Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
		command := exec.Command(n.binary, "--config-file="+file)
		g.Expect(command.Start()).To(Succeed())
		t.Cleanup(func() {
			_ = command.Process.Kill()
			_ = command.Wait()
		})
		members = append(members, live.Address{Name: entry.Name, URL: e.ClientURL(entry.Name), At: at + ":2379", TLS: config})
	}
	var seen decide.Cluster
	g.Eventually(func() decide.Cluster { seen = live.Client{}.Look(t.Context(), members); return seen }).WithTimeout(time.Minute).Should(And(
		HaveField("Members", HaveLen(2)), HaveField("Answers", HaveLen(2))))

	// etcd 3.5 lets clients in: docs/spec/etcdinstance.md.
	if !strings.HasPrefix(seen.Answers[first.Name].Version, "3.5.") {
		_, err = asked(n.address(first.Name), config)
		g.Expect(err).To(MatchError(ContainSubstring("tls")))
	}
	peer, err := signed[e.PeerSecretName()].Client()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(asked(n.address(first.Name), peer)).To(Equal(http.StatusOK))
}
