//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// content makes a ConfigMap by which a team says what its page is.
func (w *world) content(name string, data map[string]string) *corev1.ConfigMap {
	w.t.Helper()
	content := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: name, Labels: labels{criticalv2.LabelResponder: criticalv2.ResponderContent},
		},
		Data: data,
	}
	w.create(content)
	return content
}

// get is one request with headers, and what came of it.
func (s *service) get(path string, header labels) (*http.Response, string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.ctx, http.MethodGet, s.url()+strings.TrimPrefix(path, "/"), nil)
	s.Expect(err).NotTo(HaveOccurred())
	for key, value := range header {
		request.Header.Set(key, value)
	}
	response, err := oneConnectionEach.Do(request)
	s.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	s.Expect(err).NotTo(HaveOccurred())
	return response, string(body)
}

func TestThePageIsTheFormThatTheClientAccepts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shop := w.service("shop").withPage(func(p *criticalv2.PageFallback) {
		p.StatusCode, p.RetryAfterSeconds = 502, new(int32(77))
	})
	shop.standsIn(thePage)
	tests := map[string]struct {
		accept, contentType string
	}{
		"a browser":                        {"text/html,application/xhtml+xml,*/*;q=0.8", "text/html; charset=utf-8"},
		"a client of an API":               {"application/json", "application/json"},
		"a client that knows of problems":  {"application/problem+json", "application/problem+json"},
		"a client that reads text":         {"text/plain", "text/plain; charset=utf-8"},
		"a client that takes what it gets": {"*/*", "text/html; charset=utf-8"},
	}
	for name, test := range tests {
		response, body := shop.get("/any/path", labels{"Accept": test.accept})
		w.Expect(response.StatusCode).To(Equal(http.StatusBadGateway), name)
		w.Expect(body).To(ContainSubstring(pageSentence), name)
		w.Expect(response.Close).To(BeTrue(), "the connection is closed")
		headers := labels{"Content-Type": test.contentType, "Retry-After": "77", "Cache-Control": "no-store"}
		for key, want := range headers {
			w.Expect(response.Header.Get(key)).To(Equal(want), "%s of %s", key, name)
		}
		if strings.Contains(test.contentType, "json") {
			w.Expect(json.Valid([]byte(body))).To(BeTrue(), body)
		}
	}
	response, _ := shop.get("/", labels{"User-Agent": "kube-probe/1.37"})
	w.Expect(response.StatusCode).To(Equal(http.StatusOK), "a probe")
	response, _ = shop.get("/healthz", nil)
	w.Expect(response.StatusCode).To(Equal(http.StatusOK), "a probe")
}

func TestTheTeamsContentIsServedAndFollowedWithinSeconds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	content := w.content("ours", map[string]string{
		"index.html": "<h1>" + contentSentence + "</h1>",
		"503.json":   `{"title": "ours", "status": 503}`,
		"headers":    "X-Team: ours",
		"css__a.css": "h1 { color: red }",
	})
	shop := w.service("shop").withPage(func(p *criticalv2.PageFallback) { p.ConfigMapName = content.Name })
	shop.standsIn(theContent)
	shop.condition(criticalv2.ConditionFallbackReady, "True", criticalv2.ConditionReasonFallbackPrepared)

	response, _ := shop.get("/", nil)
	w.Expect(response.StatusCode).To(Equal(http.StatusServiceUnavailable))
	w.Expect(response.Header.Get("X-Team")).To(Equal("ours"))
	_, body := shop.get("/", labels{"Accept": "application/json"})
	w.Expect(body).To(MatchJSON(content.Data["503.json"]))
	_, body = shop.get("/", labels{"Accept": "text/plain"})
	w.Expect(body).To(ContainSubstring(pageSentence), "for what the team does not have, the built-in page")
	response, body = shop.get("/css/a.css", nil)
	w.Expect(response.StatusCode).To(Equal(http.StatusOK))
	w.Expect(body).To(Equal(content.Data["css__a.css"]))

	const seconds = 10 * time.Second
	text := func() string {
		_, body := shop.get("/", nil)
		return body
	}
	edited := time.Now()
	change(w, content, func(c *corev1.ConfigMap) { c.Data["index.html"] = "<h1>Another hour.</h1>" })
	w.Eventually(text, seconds).Should(Equal("<h1>Another hour.</h1>"))
	t.Logf("new content was served after %.1f s", time.Since(edited).Seconds())

	// What is not valid is said, and the built-in page stands in for that part.
	change(w, content, func(c *corev1.ConfigMap) { c.Data["503.json"] = "{" })
	shop.becomes(criticalv2.StateCovered, criticalv2.ReasonPageContentInvalid, "503.json")
	w.Eventually(func() string {
		_, body := shop.get("/", labels{"Accept": "application/json"})
		return body
	}, seconds).Should(ContainSubstring(pageSentence))
	w.Expect(text()).To(Equal("<h1>Another hour.</h1>"))

	// So it is with a ConfigMap whose owner does not agree to its being published.
	change(w, content, func(c *corev1.ConfigMap) { delete(c.Labels, criticalv2.LabelResponder) })
	shop.becomes(criticalv2.StateCovered, criticalv2.ReasonPageContentInvalid, content.Name)
	shop.answeredBy(thePage)
}

// TestDatabaseClientsGetAnErrorAtOnce runs the programs that people use, against ClusterIPs.
func TestDatabaseClientsGetAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	// atOnce is far more than any of them takes, and less than a client waits for an answer.
	const atOnce = 10 * time.Second
	tests := map[string]struct {
		protocol string
		port     int32
		command  []string
		says     string
	}{
		"psql": {"postgresql", 5432, []string{"psql", "host=HOST port=PORT user=shop dbname=shop", "-c", "SELECT 1"}, "FATAL:  " + pageSentence},
		"mariadb": {"mysql", 3306, []string{"mariadb", "--no-defaults", "--skip-ssl", "-hHOST", "-PPORT", "-ushop", "-eSELECT 1"},
			`ERROR 1053 \(\w+\): ` + pageSentence},
		"redis-cli": {"redis", 6379, []string{"redis-cli", "-h", "HOST", "-p", "PORT", "GET", "key"}, "LOADING " + pageSentence},
	}
	w := newWorld(t)
	databases := map[string]*service{}
	for name, test := range tests {
		databases[name] = w.service(name, func(s *corev1.Service) {
			s.Spec.Ports = []corev1.ServicePort{{Name: "db", Port: test.port, AppProtocol: new(test.protocol)}}
		}).withPage()
	}
	for name, test := range tests {
		database := databases[name]
		database.becomes(criticalv2.StateCovered, criticalv2.ReasonFallbackServing)
		fill := strings.NewReplacer("HOST", database.object.Spec.ClusterIP, "PORT", strconv.Itoa(int(test.port)))
		run := func() string {
			ctx, cancel := context.WithTimeout(w.ctx, atOnce)
			defer cancel()
			var args []string
			for _, arg := range test.command[1:] {
				args = append(args, fill.Replace(arg))
			}
			command := exec.CommandContext(ctx, test.command[0], args...)
			command.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "HOME="+t.TempDir())
			began := time.Now()
			// They end with an error: it is what they say that counts.
			output, _ := command.CombinedOutput()
			w.Expect(ctx.Err()).NotTo(HaveOccurred(), "%s hangs; it said: %s", name, output)
			t.Logf("%s said after %s: %s", name, time.Since(began).Round(time.Millisecond), output)
			return string(output)
		}
		// kube-proxy and the table may be a moment behind the status.
		w.Eventually(run).Should(MatchRegexp(test.says))
	}
}
