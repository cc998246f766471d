package apiserver_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/critical-service/operator/internal/etcd"
	"github.com/critical-service/operator/internal/etcd/remote"
	"github.com/critical-service/operator/workloads/test/aggregated"
)

var (
	waiting    = types.NamespacedName{Namespace: namespace, Name: aggregated.Waiting}
	restoreURL = etcd.Path(etcd.Subresources, namespace, aggregated.Waiting, etcd.Restore)
	// mayRestore is the right to send a snapshot. A WebSocket begins with a GET.
	mayRestore = rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{"etcdinstances/restore"}, Verbs: []string{"create", "get"}}
)

// received is what the Pod that restores got of one request.
type received struct {
	content []byte
	err     error
}

// next is the next request that it gets.
func next(g *WithT, got chan received) (to received) {
	g.Eventually(got).WithTimeout(time.Minute).Should(Receive(&to))
	return to
}

// then does something when it is read, and has nothing to read.
type then func()

func (do then) Read([]byte) (int, error) {
	do()
	return 0, io.EOF
}

// inTheMiddle does something in the middle of a snapshot, half of which fits into no buffer.
func inTheMiddle(whole []byte, do func()) io.Reader {
	half := len(whole) / 2
	return io.MultiReader(bytes.NewReader(whole[:half]), then(do), bytes.NewReader(whole[half:]))
}

// restoring is a world in which such a Pod is there.
func restoring(t *testing.T) (*world, chan received) {
	t.Helper()
	got := make(chan received, 10)
	pod := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, err := io.ReadAll(r.Body)
		got <- received{content, err}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(pod.Close)
	setup.Receiver = strings.TrimPrefix(pod.URL, "http://")
	return serving(t), got
}

// taken is a snapshot of the etcd.
func (w *world) taken() []byte {
	w.t.Helper()
	client, err := remote.New(w.keeper())
	w.Expect(err).NotTo(HaveOccurred())
	var content bytes.Buffer
	_, err = client.Backup(w.t.Context(), named, &content, func(int64, int64) {})
	w.Expect(err).NotTo(HaveOccurred())
	return content.Bytes()
}

// upload sends a snapshot by an upgraded connection.
func (w *world) upload(ctx context.Context, as *rest.Config, from io.Reader) error {
	w.t.Helper()
	client, err := remote.New(as)
	w.Expect(err).NotTo(HaveOccurred())
	return client.Restore(ctx, waiting, from, 0, func(int64, int64) {})
}

// post sends one by POST, and returns the answer.
func (w *world) post(as *rest.Config, path string, from io.Reader) (*http.Response, error) {
	w.t.Helper()
	clients, err := rest.HTTPClientFor(as)
	w.Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, strings.TrimSuffix(as.Host, "/")+path, from)
	w.Expect(err).NotTo(HaveOccurred())
	answer, err := clients.Do(request)
	if err == nil {
		w.t.Cleanup(func() { answer.Body.Close() })
	}
	return answer, err
}

func TestASnapshotIsRestored(t *testing.T) {
	w, got := restoring(t)
	whole := w.taken()
	restorer := w.user("restorer", mayRestore)
	t.Run("by an upgraded connection", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(w.upload(t.Context(), restorer, bytes.NewReader(whole))).To(Succeed())
		to := next(g, got)
		g.Expect(to.err).NotTo(HaveOccurred())
		g.Expect(bytes.Equal(to.content, whole)).To(BeTrue(), "%d of %d bytes", len(to.content), len(whole))
	})
	t.Run("by POST", func(t *testing.T) {
		g := NewWithT(t)
		answer, err := w.post(restorer, restoreURL, bytes.NewReader(whole))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answer).To(HaveHTTPStatus(http.StatusOK))
		g.Expect(statusOf(t, answer).Message).To(ContainSubstring("ETCDInstance shop/waiting has received a snapshot of"))
		g.Expect(bytes.Equal(next(g, got).content, whole)).To(BeTrue())
	})
	t.Run("by kubectl alone", func(t *testing.T) {
		g := NewWithT(t)
		file := filepath.Join(t.TempDir(), "s.db")
		g.Expect(os.WriteFile(file, whole, 0o600)).To(Succeed())
		g.Expect(w.kubectl("restorer", "", "create", "--raw", restoreURL, "-f", file)).To(ContainSubstring("has received a snapshot of"))
		g.Expect(bytes.Equal(next(g, got).content, whole)).To(BeTrue())
	})
	t.Run("that takes longer than any other request may", func(t *testing.T) {
		g := NewWithT(t)
		began := time.Now()
		slow := io.TeeReader(bytes.NewReader(whole), &paced{Writer: io.Discard, began: began, over: cutAfter() * 5 / 4})
		g.Expect(w.upload(t.Context(), restorer, slow)).To(Succeed())
		g.Expect(time.Since(began)).To(BeNumerically(">", cutAfter()))
		g.Expect(bytes.Equal(next(g, got).content, whole)).To(BeTrue())
	})
	t.Run("and not by POST, if it takes so long", func(t *testing.T) {
		g := NewWithT(t)
		slow := io.TeeReader(bytes.NewReader(whole), &paced{Writer: io.Discard, began: time.Now(), over: cutAfter() * 5 / 4})
		answer, err := w.post(restorer, restoreURL, slow)
		if err == nil {
			g.Expect(answer.StatusCode).To(BeNumerically(">=", http.StatusBadRequest))
		}
		g.Expect(next(g, got).err).To(HaveOccurred(), "the Pod restores nothing of it")
	})
}

func TestWhatIsNotRestored(t *testing.T) {
	w, got := restoring(t)
	whole := w.taken()
	damaged := bytes.Clone(whole)
	damaged[len(damaged)/2] ^= 1
	restorer := w.user("restorer", mayRestore)
	for sentence, test := range map[string]struct {
		content []byte
		says    string
	}{
		"a snapshot that was changed":         {damaged, "another SHA-256"},
		"a snapshot that was cut":             {whole[:len(whole)/2], "was cut after"},
		"a snapshot after which more follows": {append(bytes.Clone(whole), whole...), "more follow"},
		"another file":                        {make([]byte, len(whole)), "does not begin as a snapshot"},
		"nothing":                             {nil, "was cut after 0 bytes"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			err := w.upload(t.Context(), restorer, bytes.NewReader(test.content))
			g.Expect(apierrors.IsBadRequest(err)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(test.says)))
			answer, err := w.post(restorer, restoreURL, bytes.NewReader(test.content))
			if err == nil { // The connection may be closed before all was sent.
				g.Expect(answer).To(HaveHTTPStatus(http.StatusBadRequest))
				g.Expect(statusOf(t, answer).Message).To(ContainSubstring(test.says))
			}
			g.Expect([]error{next(g, got).err, next(g, got).err}).To(HaveEach(HaveOccurred()), "the Pod does not get to its end")
		})
	}
	t.Run("a snapshot whose client goes away", func(t *testing.T) {
		g := NewWithT(t)
		ctx, cancel := context.WithCancel(t.Context())
		g.Expect(w.upload(ctx, restorer, inTheMiddle(whole, cancel))).To(MatchError(context.Canceled))
		g.Expect(next(g, got).err).To(HaveOccurred())
	})
	t.Run("a snapshot when the server is killed in the middle", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(w.upload(t.Context(), restorer, inTheMiddle(whole, w.Die))).NotTo(Succeed())
		g.Expect(next(g, got).err).To(HaveOccurred())
	})
}

func TestWhoMayRestore(t *testing.T) {
	w, got := restoring(t)
	reader := w.user("reader", rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{"etcdinstances/restore"}, Verbs: []string{"get"}})
	restorer := w.user("restorer", mayRestore)
	w.Expect(w.upload(t.Context(), w.user("stranger"), http.NoBody)).To(MatchError(ContainSubstring("cannot get resource")))
	err := w.upload(t.Context(), reader, http.NoBody)
	w.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
	w.Expect(err).To(MatchError(ContainSubstring("must be allowed to create etcdinstances/restore.subresources.mycrd.com")), "who may read must not write")
	answer, err := w.post(reader, restoreURL, http.NoBody)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(answer).To(HaveHTTPStatus(http.StatusForbidden))
	w.Expect(w.get(restorer, restoreURL)).To(HaveHTTPStatus(http.StatusMethodNotAllowed), "by GET nothing is sent")

	answer, err = w.post(restorer, strings.Replace(restoreURL, aggregated.Waiting, instance, 1), http.NoBody)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(answer).To(HaveHTTPStatus(http.StatusConflict))
	w.Expect(statusOf(t, answer).Message).To(ContainSubstring("data is restored only into one that is made with spec.restore.upload: true"))
	w.Expect(got).To(BeEmpty())
}
