package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/ports"
	"github.com/critical-service/operator/test/prober"
)

func TestPages(t *testing.T) {
	tests := map[string]struct {
		server *web
		path   string
		status int
		body   string
		header map[string]string
	}{
		"the page names its server": {
			server: &web{name: "shop", text: "Welcome.", status: 200}, path: "/cart",
			status: 200, body: "Welcome.\n", header: map[string]string{"X-Answered-By": "shop", "Retry-After": ""},
		},
		"a maintenance page says when to come back": {
			server: &web{name: "fallback", text: "Back soon.", status: 503}, path: "/",
			status: 503, body: "Back soon.\n", header: map[string]string{"X-Answered-By": "fallback", "Retry-After": "5"},
		},
		"a server that is to close connections says so": {
			server: &web{name: "page", text: "Back soon.", status: 200, close: true}, path: "/",
			status: 200, body: "Back soon.\n", header: map[string]string{"Connection": "close"},
		},
		"a server is ready by default":            {server: &web{}, path: "/readyz", status: 200, body: "ok\n"},
		"a server that is never ready says so":    {server: &web{neverReady: true}, path: "/readyz", status: 503, body: "not ready\n"},
		"a server that is never ready is healthy": {server: &web{neverReady: true}, path: "/healthz", status: 200, body: "ok\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			recorder := httptest.NewRecorder()
			test.server.handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, test.path, nil))
			g.Expect(recorder.Code).To(Equal(test.status))
			g.Expect(recorder.Body.String()).To(Equal(test.body))
			for key, value := range test.header {
				g.Expect(recorder.Header().Get(key)).To(Equal(value), key)
			}
		})
	}
}

func TestAStoppingServerIsNotReadyAndDrains(t *testing.T) {
	g := NewWithT(t)
	port := ports.Port(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	server := &web{ports: []int{port}, name: "shop", status: 200, drain: 5 * time.Second}
	go func() { ended <- server.run(ctx, false) }()
	status := func(path string) func() int {
		return func() int {
			response, err := http.Get("http://127.0.0.1:" + strconv.Itoa(port) + path)
			if err != nil {
				return 0
			}
			defer func() { _ = response.Body.Close() }()
			_, _ = io.Copy(io.Discard, response.Body)
			return response.StatusCode
		}
	}
	g.Eventually(status("/readyz")).Should(Equal(200))
	stop()
	g.Eventually(status("/readyz")).Should(Equal(503))
	g.Expect(status("/")()).To(Equal(200))
	g.Eventually(ended, time.Minute).Should(Receive(BeNil()))
	g.Expect(status("/")()).To(BeZero())
}

func TestAServerUnderControlBecomesUnreadyAndGoesOnAnswering(t *testing.T) {
	tests := map[string]struct {
		server *web
		ready  int
	}{
		"a server under control obeys":         {server: &web{status: 200, control: true}, ready: 503},
		"a server that is not takes no orders": {server: &web{status: 200}, ready: 200},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			handler := test.server.handler()
			status := func(method, path string) int {
				recorder := httptest.NewRecorder()
				handler.ServeHTTP(recorder, httptest.NewRequest(method, path, nil))
				return recorder.Code
			}
			g.Expect(status(http.MethodPost, "/unready")).To(Equal(200))
			g.Expect(status(http.MethodGet, "/readyz")).To(Equal(test.ready))
			g.Expect(status(http.MethodGet, "/")).To(Equal(200))
		})
	}
}

func TestOneServerListensOnSeveralPorts(t *testing.T) {
	g := NewWithT(t)
	ports := []int{ports.Port(t), ports.Port(t)}
	server := &web{ports: ports, name: "shop", status: 200}
	go func() { _ = server.run(t.Context(), false) }()
	for _, port := range ports {
		g.Eventually(func() error {
			response, err := http.Get("http://127.0.0.1:" + strconv.Itoa(port))
			if err == nil {
				_ = response.Body.Close()
			}
			return err
		}).Should(Succeed())
	}
}

func TestACrashIsAnError(t *testing.T) {
	g := NewWithT(t)
	server := &web{ports: []int{ports.Port(t)}}
	g.Expect(server.run(t.Context(), true)).To(MatchError(errCrash))
}

func TestAPortInUseIsNamed(t *testing.T) {
	g := NewWithT(t)
	listener, err := net.Listen("tcp", ":0")
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = listener.Close() }()
	port := listener.Addr().(*net.TCPAddr).Port
	server := &web{ports: []int{port}}
	g.Expect(server.run(t.Context(), false)).To(MatchError(ContainSubstring("port " + strconv.Itoa(port))))
}

func TestProbePrintsLines(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer((&web{name: "shop", status: 200}).handler())
	defer server.Close()
	var out bytes.Buffer
	command := command()
	command.SetOut(&out)
	command.SetArgs([]string{"probe", server.URL, "--rate=50", "--duration=2s", "--timeout=30s"})
	g.Expect(command.ExecuteContext(t.Context())).To(Succeed())

	var results []prober.Result
	g.Expect(prober.ReadLines(&out, func(r prober.Result) { results = append(results, r) })).To(Succeed())
	g.Expect(results).NotTo(BeEmpty())
	g.Expect(results).To(HaveEach(HaveField("By", "shop")))
}

func TestProbeKnowsByItsWordsWhoDoesNotSayWhoItIs(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<p>Closed for a moment.</p>")
	}))
	defer server.Close()
	var out bytes.Buffer
	command := command()
	command.SetOut(&out)
	command.SetArgs([]string{"probe", server.URL, "--rate=50", "--duration=2s", "--timeout=30s", "--mark=Closed for a moment.=page"})
	g.Expect(command.ExecuteContext(t.Context())).To(Succeed())

	var results []prober.Result
	g.Expect(prober.ReadLines(&out, func(r prober.Result) { results = append(results, r) })).To(Succeed())
	g.Expect(results).To(And(Not(BeEmpty()), HaveEach(HaveField("By", "page"))))
}
