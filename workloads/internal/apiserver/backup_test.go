package apiserver_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/critical-service/operator/internal/etcd"
	"github.com/critical-service/operator/internal/etcd/remote"
	"github.com/critical-service/operator/internal/etcd/snapshot"
)

var named = types.NamespacedName{Namespace: namespace, Name: instance}

// get asks for a path through the API server of the cluster, as a user.
func (w *world) get(as *rest.Config, path string) *http.Response {
	w.t.Helper()
	clients, err := rest.HTTPClientFor(as)
	w.Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, strings.TrimSuffix(as.Host, "/")+path, http.NoBody)
	w.Expect(err).NotTo(HaveOccurred())
	answer, err := clients.Do(request)
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// A snapshot of etcd's own client is the measure: the same database, as a stranger would read it.
func TestASnapshotByGET(t *testing.T) {
	w := serving(t)
	answer := w.get(w.keeper(), backupURL)
	w.Expect(answer).To(HaveHTTPStatus(http.StatusOK))
	w.Expect(answer.Header.Get("Content-Type")).To(Equal("application/octet-stream"))
	w.Expect(answer.Header.Get("Content-Disposition")).To(ContainSubstring(`filename="shop-my-super-etcd-`))
	revision, err := strconv.ParseInt(answer.Header.Get(etcd.RevisionHeader), 10, 64)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(revision).To(Equal(setup.Revision))

	name := filepath.Join(t.TempDir(), "s.db")
	body, err := io.ReadAll(answer.Body)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(answer.ContentLength).To(BeEquivalentTo(len(body)), "the length is announced, so that a cut is noticed by every client")
	w.Expect(os.WriteFile(name, body, 0o600)).To(Succeed())
	contents, err := snapshot.Inspect(name)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(contents.Revision).To(Equal(setup.Revision))
	w.Expect(contents.Bytes).To(BeNumerically(">", dataSize))

	audited := func() string { log, _ := os.ReadFile(filepath.Join(setup.Folder, "log")); return string(log) }
	w.Eventually(audited).Should(And(
		ContainSubstring(`"username":"keeper"`), ContainSubstring(`"subresource":"backup"`),
		ContainSubstring(`"backup.subresources.mycrd.com/bytes":"`+strconv.Itoa(len(body))+`"`),
		ContainSubstring(`"backup.subresources.mycrd.com/whole":"true"`)), "the audit log says who has read all data")
}

func TestASnapshotByAnUpgradedConnection(t *testing.T) {
	w := serving(t)
	client, err := remote.New(w.keeper())
	w.Expect(err).NotTo(HaveOccurred())
	var received bytes.Buffer
	var last, total int64
	taken, err := client.Backup(t.Context(), named, &received, func(passed, of int64) { last, total = passed, of })
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(taken.Revision).To(Equal(setup.Revision))
	w.Expect(taken.Bytes).To(BeEquivalentTo(received.Len()))
	w.Expect([]int64{last, total}).To(HaveEach(taken.Bytes), "the length was known while it passed")
}

// paced takes all data evenly, within a time.
type paced struct {
	io.Writer
	began time.Time
	over  time.Duration
	taken int
}

func (p *paced) Write(chunk []byte) (int, error) {
	p.taken += len(chunk)
	due := time.Duration(float64(p.over) * float64(p.taken) / dataSize)
	<-time.After(time.Until(p.began.Add(due)))
	return p.Writer.Write(chunk)
}

// A reader takes twice as long as the API server of the cluster lets a request take.
func TestASlowReader(t *testing.T) {
	w := serving(t)
	keeper := w.keeper()
	t.Run("by GET is cut, and that is recognised", func(t *testing.T) {
		g := NewWithT(t)
		answer := w.get(keeper, backupURL)
		g.Expect(answer.StatusCode).To(Equal(http.StatusOK))
		checker := snapshot.NewChecker()
		began := time.Now()
		_, err := io.CopyBuffer(&paced{Writer: checker, began: began, over: 2 * cutAfter()}, struct{ io.Reader }{answer.Body}, make([]byte, etcd.Chunk))
		g.Expect(err).To(HaveOccurred(), "the client notices")
		cut := &snapshot.CutError{}
		g.Expect(checker.Verdict()).To(BeAssignableToTypeOf(cut), "and a person who finds the file later, too")
		t.Logf("a GET was cut after %s: %v; %v", time.Since(began).Round(time.Millisecond), err, checker.Verdict())
	})
	t.Run("by an upgraded connection gets all", func(t *testing.T) {
		g := NewWithT(t)
		client, err := remote.New(keeper)
		g.Expect(err).NotTo(HaveOccurred())
		began := time.Now()
		taken, err := client.Backup(t.Context(), named, &paced{Writer: io.Discard, began: began, over: 2 * cutAfter()}, func(int64, int64) {})
		g.Expect(err).NotTo(HaveOccurred())
		took := time.Since(began)
		g.Expect(took).To(BeNumerically(">", cutAfter()), "it took longer than any other request may")
		t.Logf("an upgraded connection took %s for %d bytes", took.Round(time.Millisecond), taken.Bytes)
	})
}
