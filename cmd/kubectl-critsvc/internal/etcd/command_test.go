package etcd_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/etcd"
	"github.com/critical-service/operator/internal/etcd/snapshot/snapshottest"
)

// run carries out a command line.
func run(t *testing.T, arguments ...string) (out, errOut string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	to := access.New(genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &stdout, ErrOut: &stderr})
	command := etcd.Command(to)
	to.Flags.AddFlags(command.PersistentFlags())
	command.SilenceUsage, command.SilenceErrors = true, true
	command.SetArgs(arguments)
	err = command.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

// serve is an API server with one answer, and what it was asked.
func serve(t *testing.T, answer string) (url string, asked *http.Request, sent map[string]any) {
	t.Helper()
	asked, sent = &http.Request{}, map[string]any{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = *r
		if body, _ := io.ReadAll(r.Body); len(body) > 0 {
			_ = json.Unmarshal(body, &sent)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	return server.URL, asked, sent
}

func TestWhatIsAskedOfTheAPIServer(t *testing.T) {
	const one = `{"apiVersion":"mycrd.com/v1alpha1","kind":"ETCDInstance","metadata":{"namespace":"shop","name":"e"},` +
		`"spec":{"replicas":3,"with_tls_bundle":true},"status":{"state":"running","readyReplicas":2,"version":"3.7.3","message":"2 of 3 members are healthy."}}`
	for sentence, test := range map[string]struct {
		arguments []string
		answer    string
		asked     string
		spec      any
		out       string
	}{
		"the defaults are left to the operator": {[]string{"create", "e"}, one, "POST /apis/mycrd.com/v1alpha1/namespaces/shop/etcdinstances", map[string]any{}, "etcdinstance/e created\n"},
		"what is wanted is sent": {
			[]string{"create", "e", "--replicas=3", "--enable-tls", "--storage=1Gi", "--storage-class=fast", "--from=other"}, one,
			"POST /apis/mycrd.com/v1alpha1/namespaces/shop/etcdinstances",
			map[string]any{"replicas": 3.0, "with_tls_bundle": true, "storage": map[string]any{"size": "1Gi", "storageClassName": "fast"}, "restore": map[string]any{"fromInstance": "other"}},
			"etcdinstance/e created\n",
		},
		"a deletion": {[]string{"delete", "e"}, `{"kind":"Status","apiVersion":"v1","status":"Success"}`, "DELETE /apis/mycrd.com/v1alpha1/namespaces/shop/etcdinstances/e", nil, "etcdinstance/e deleted\n"},
		"those of a namespace": {
			[]string{"list"}, `{"apiVersion":"mycrd.com/v1alpha1","kind":"ETCDInstanceList","items":[` + one + `]}`,
			"GET /apis/mycrd.com/v1alpha1/namespaces/shop/etcdinstances", nil,
			"NAMESPACE   NAME   STATE     READY   VERSION   TLS    MESSAGE\nshop        e      running   2/3     3.7.3     true   2 of 3 members are healthy.\n",
		},
		"those of all namespaces": {[]string{"list", "-A"}, `{"apiVersion":"mycrd.com/v1alpha1","kind":"ETCDInstanceList","items":[]}`, "GET /apis/mycrd.com/v1alpha1/etcdinstances", nil, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			url, asked, sent := serve(t, test.answer)
			out, _, err := run(t, append(test.arguments, "--server", url, "--namespace", "shop")...)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(asked.Method + " " + asked.URL.Path).To(Equal(test.asked))
			if test.spec != nil {
				g.Expect(sent["spec"]).To(Equal(test.spec))
			}
			g.Expect(out).To(Equal(test.out))
		})
	}
}

func TestVerify(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	whole := snapshottest.Taken(t, 1234)
	name := filepath.Join(folder, "s.db")
	g.Expect(os.WriteFile(name, whole, 0o600)).To(Succeed())

	out, _, err := run(t, "verify", name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(And(ContainSubstring("is whole: "), ContainSubstring("revision 1234, 1234 records, of etcd 3.6.0")))
	out, _, err = run(t, "verify", name, "-o", "json")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring(`"revision": 1234`))

	g.Expect(os.WriteFile(name, whole[:len(whole)/2], 0o600)).To(Succeed())
	_, errOut, err := run(t, "verify", name)
	g.Expect(err).To(MatchError(access.ErrNo), "the answer is no")
	g.Expect(errOut).To(ContainSubstring("it is not whole; take it again"))
	_, _, err = run(t, "verify", filepath.Join(folder, "none"))
	g.Expect(err).To(And(MatchError(os.ErrNotExist), Not(MatchError(access.ErrNo))), "and here there is none")
}
