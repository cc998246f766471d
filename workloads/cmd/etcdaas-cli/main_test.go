package main

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
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/critical-service/operator/internal/etcd/console"
)

// asked is what the program asked of the API server.
type asked struct {
	Method, Path string
	Body         map[string]any
}

// against runs a command line against an API server that answers with one text.
func against(t *testing.T, code int, answer string, arguments ...string) (request asked, exit int, out, errOut string) {
	t.Helper()
	g := NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request.Method, request.Path = r.Method, r.URL.Path
		if body, _ := io.ReadAll(r.Body); len(body) > 0 {
			g.Expect(json.Unmarshal(body, &request.Body)).To(Succeed())
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	config := api.NewConfig()
	config.Clusters["here"] = &api.Cluster{Server: server.URL}
	config.Contexts["here"] = &api.Context{Cluster: "here"}
	config.CurrentContext = "here"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	t.Setenv("KUBECONFIG", file)
	var stdout, stderr bytes.Buffer
	exit = run(t.Context(), console.Console{Out: &stdout, ErrOut: &stderr}, arguments)
	return request, exit, stdout.String(), stderr.String()
}

const (
	instances = "/apis/mycrd.com/v1alpha1/namespaces/default/etcdinstances"
	created   = `{"apiVersion":"mycrd.com/v1alpha1","kind":"ETCDInstance","metadata":{"name":"my-super-etcd"}}`
	listed    = `{"apiVersion":"mycrd.com/v1alpha1","kind":"ETCDInstanceList","items":[{"apiVersion":"mycrd.com/v1alpha1","kind":"ETCDInstance",` +
		`"metadata":{"name":"my-super-etcd"},"spec":{"replicas":2},"status":{"state":"running"}}]}`
	success  = `{"apiVersion":"v1","kind":"Status","status":"Success"}`
	notFound = `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"etcdinstances \"x\" not found"}`
)

// The command lines are those of the workshop.
func TestTheCommandLinesOfTheWorkshop(t *testing.T) {
	t.Run("an etcd of an even size is created", func(t *testing.T) {
		g := NewWithT(t)
		request, exit, out, _ := against(t, http.StatusCreated, created, "-create", "-name", "my-super-etcd", "-replicas", "2")
		g.Expect(exit).To(BeZero())
		g.Expect(request.Method + " " + request.Path).To(Equal("POST " + instances))
		g.Expect(request.Body["spec"]).To(Equal(map[string]any{"replicas": 2.0}))
		g.Expect(out).To(Equal("etcdinstance/my-super-etcd created\n"))
	})
	t.Run("with TLS, in another namespace", func(t *testing.T) {
		g := NewWithT(t)
		request, exit, _, _ := against(t, http.StatusCreated, created, "-create", "-name=my-super-etcd", "-enable-tls", "-namespace=shop")
		g.Expect(exit).To(BeZero())
		g.Expect(request.Path).To(Equal("/apis/mycrd.com/v1alpha1/namespaces/shop/etcdinstances"))
		g.Expect(request.Body["spec"]).To(Equal(map[string]any{"replicas": 1.0, "with_tls_bundle": true}))
	})
	t.Run("all of a namespace are listed, each with its spec and status", func(t *testing.T) {
		g := NewWithT(t)
		request, exit, out, _ := against(t, http.StatusOK, listed, "-list")
		g.Expect(exit).To(BeZero())
		g.Expect(request.Method + " " + request.Path).To(Equal("GET " + instances))
		g.Expect(out).To(Equal("my-super-etcd:\n\tspec: {\"replicas\":2}, \n\tstatus: {\"state\":\"running\"}\n"))
	})
	t.Run("one is deleted", func(t *testing.T) {
		g := NewWithT(t)
		request, exit, out, _ := against(t, http.StatusOK, success, "-delete", "-name", "my-super-etcd")
		g.Expect(exit).To(BeZero())
		g.Expect(request.Method + " " + request.Path).To(Equal("DELETE " + instances + "/my-super-etcd"))
		g.Expect(out).To(Equal("etcdinstance/my-super-etcd deleted\n"))
	})
}

func TestWhatCannotBeCarriedOut(t *testing.T) {
	for sentence, test := range map[string]struct {
		arguments []string
		says      string
	}{
		"nothing is asked for":                {nil, "say one of -create, -list, -delete and -backup"},
		"two things are":                      {[]string{"-create", "-delete", "-name", "x"}, "say one of"},
		"no etcd is named":                    {[]string{"-create"}, "say by -name which etcd is meant"},
		"the name is given without its flag":  {[]string{"-delete", "x"}, `"x" is no flag`},
		"a flag that there is not":            {[]string{"-restore"}, "flag provided but not defined"},
		"a size that is no number":            {[]string{"-create", "-name", "x", "-replicas", "two"}, "invalid value"},
		"the API server says no":              {[]string{"-delete", "-name", "x"}, `delete ETCDInstance default/x: etcdinstances "x" not found`},
		"a backup of one that does not exist": {[]string{"-backup", "-name", "x"}, `back up default/x: etcdinstances "x" not found`},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			_, exit, out, errOut := against(t, http.StatusNotFound, notFound, test.arguments...)
			g.Expect(exit).To(Equal(exitError))
			g.Expect(errOut).To(ContainSubstring(test.says))
			g.Expect(out).To(BeEmpty())
		})
	}
}

// A user without an API server of backups gets a sentence, and not a failed handshake alone.
func TestABackupThatNoServerServes(t *testing.T) {
	g := NewWithT(t)
	_, exit, _, errOut := against(t, http.StatusNotFound, "404 page not found", "-backup", "-name", "x")
	g.Expect(exit).To(Equal(exitError))
	g.Expect(errOut).To(ContainSubstring("kubectl get apiservice v1alpha1.subresources.mycrd.com"))
}

func TestTheKubeconfigOfTheEnvironmentIsUsed(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	var errOut bytes.Buffer
	g.Expect(run(t.Context(), console.Console{Out: os.Stdout, ErrOut: &errOut}, []string{"-list"})).To(Equal(exitError))
	g.Expect(errOut.String()).To(ContainSubstring("find the cluster"))
}
