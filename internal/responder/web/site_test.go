package web_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/page"
	"github.com/critical-service/operator/internal/responder/web"
)

// ask sends a request to a site and returns the answer.
func ask(site *web.Site, method, target string, header ...string) *http.Response {
	request := httptest.NewRequest(method, target, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	recorder := httptest.NewRecorder()
	site.ServeHTTP(recorder, request)
	return recorder.Result()
}

func textOf(answer *http.Response) string {
	body, _ := io.ReadAll(answer.Body)
	return string(body)
}

var fallback = criticalv2.PageFallback{StatusCode: 503, RetryAfterSeconds: new(int32(30)), Message: "Back <soon> & well."}

// given is content with everything in it.
func given(t *testing.T) *page.Content {
	t.Helper()
	content, problems := page.Parse(map[string][]byte{
		"index.html": []byte("<p>ours"), "503.json": []byte(`{"error": "down"}`), "503.txt": []byte("ours"),
		"headers":  []byte("Access-Control-Allow-Origin: *\nVary: Origin"),
		"logo.svg": []byte("<svg/>"), "help__index.html": []byte("<p>help"),
	})
	NewWithT(t).Expect(problems).To(BeEmpty())
	return content
}

func TestAcceptDecides(t *testing.T) {
	const html, problem, plain, asJSON = "text/html; charset=utf-8", "application/problem+json", "text/plain; charset=utf-8", "application/json"
	for sentence, c := range map[string]struct{ accept, want string }{
		"a browser gets HTML":                                  {"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", html},
		"a client that does not mind gets HTML":                {"*/*", html},
		"a client that says nothing gets HTML":                 {"", html},
		"a client of problems gets a problem":                  {"application/problem+json", problem},
		"a client of JSON gets JSON":                           {"application/json", asJSON},
		"a client of any application type gets a problem":      {"application/*", problem},
		"axios gets JSON":                                      {"application/json, text/plain, */*", asJSON},
		"a client of text gets text":                           {"text/plain", plain},
		"the greater q wins":                                   {"text/html;q=0.4, text/plain;q=0.5", plain},
		"the more specific range wins over the general one":    {"text/html;q=0.1, */*;q=0.5", problem},
		"what is refused is not sent":                          {"text/html;q=0, application/*;q=0, */*", plain},
		"a client that accepts none of them gets text":         {"image/png", plain},
		"a header that cannot be read is as good as no header": {"text/plain;q=nonsense", html},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			header := []string{}
			if c.accept != "" {
				header = append(header, "Accept", c.accept)
			}
			answer := ask(web.NewSite(fallback, nil), http.MethodGet, "/any/path?x", header...)
			g.Expect(answer.StatusCode).To(Equal(503))
			g.Expect(answer.Header.Get("Content-Type")).To(Equal(c.want))
			varies := "Accept, Accept-Language"
			if c.want == problem || c.want == asJSON {
				varies = "Accept"
			}
			g.Expect(answer.Header.Values("Vary")).To(Equal([]string{varies}), "programs get the same in every language")
			g.Expect(answer.Header.Get("Retry-After")).To(Equal("30"))
			g.Expect(answer.Header.Get("Cache-Control")).To(Equal("no-store"))
			g.Expect(answer.Header.Get("Connection")).To(Equal("close"))
		})
	}
}

func TestTheBuiltInPage(t *testing.T) {
	g := NewWithT(t)
	html := textOf(ask(web.NewSite(fallback, nil), http.MethodGet, "/"))
	g.Expect(html).To(ContainSubstring("Back &lt;soon&gt; &amp; well."), "escaped")
	g.Expect(html).To(ContainSubstring(`<meta http-equiv="refresh" content="30">`))
	g.Expect(html).To(And(ContainSubstring(`<html lang="en" dir="ltr">`), ContainSubstring("prefers-color-scheme: dark"), ContainSubstring("width=device-width")))
	g.Expect(html).NotTo(Or(ContainSubstring("{{"), ContainSubstring("<!--"), ContainSubstring("http://"), ContainSubstring("https://"), ContainSubstring("<script")))
	g.Expect(len(html)).To(BeNumerically("<", 5000))

	quiet := textOf(ask(web.NewSite(criticalv2.PageFallback{RetryAfterSeconds: new(int32(0))}, nil), http.MethodGet, "/"))
	g.Expect(quiet).NotTo(Or(ContainSubstring("refresh"), ContainSubstring("by itself"), ContainSubstring("Expected")))

	tricky := textOf(ask(web.NewSite(criticalv2.PageFallback{Message: "{{status}}<!--{when}-->\n"}, nil), http.MethodGet, "/"))
	g.Expect(tricky).To(ContainSubstring("{{status}}&lt;!--{when}--&gt;"), "a message is no template")

	problem := map[string]any{}
	g.Expect(json.Unmarshal([]byte(textOf(ask(web.NewSite(fallback, nil), http.MethodGet, "/", "Accept", "application/problem+json"))), &problem)).To(Succeed())
	g.Expect(problem).To(Equal(map[string]any{"type": "about:blank", "title": "Service Unavailable", "status": 503.0,
		"detail": "Back <soon> & well.", "retryAfterSeconds": 30.0}))
	g.Expect(textOf(ask(web.NewSite(fallback, nil), http.MethodGet, "/", "Accept", "text/plain"))).To(
		Equal("503 Service Unavailable\n\nBack <soon> & well.\nPlease try again in 30 seconds.\n"))
}

func TestADateOfTheTeamIsSaidUntilItHasPassed(t *testing.T) {
	g := NewWithT(t)
	ahead := time.Date(2999, 1, 31, 18, 30, 0, 0, time.FixedZone("", 3600))
	answer := ask(web.NewSite(fallback, &page.Content{ETA: ahead}), http.MethodGet, "/")
	g.Expect(answer.Header.Get("Retry-After")).To(Equal("Thu, 31 Jan 2999 17:30:00 GMT"))
	g.Expect(textOf(answer)).To(MatchRegexp(`Expected back <time datetime="2999-01-31T18:30:00\+01:00">in about \d+ days</time>`))

	problem := textOf(ask(web.NewSite(fallback, &page.Content{ETA: ahead}), http.MethodGet, "/", "Accept", "application/problem+json"))
	g.Expect(problem).To(And(ContainSubstring(`"expectedBack":"2999-01-31T18:30:00+01:00"`), Not(ContainSubstring("retryAfterSeconds"))))
	soon := time.Now().Add(time.Hour)
	g.Expect(retryInfo(t, &page.Content{ETA: soon})).To(And(BeNumerically(">", 30*time.Second), BeNumerically("<=", time.Hour)))
	g.Expect(retryInfo(t, &page.Content{ETA: time.Unix(1, 0)})).To(Equal(30 * time.Second))

	passed := ask(web.NewSite(fallback, &page.Content{ETA: time.Unix(1, 0)}), http.MethodGet, "/")
	g.Expect(passed.Header.Get("Retry-After")).To(Equal("30"))
	g.Expect(textOf(passed)).NotTo(ContainSubstring("Expected back"))
}

// retryInfo is after how long a call of gRPC-Web may be tried again.
func retryInfo(t *testing.T, content *page.Content) time.Duration {
	t.Helper()
	g := NewWithT(t)
	answer := ask(web.NewSite(fallback, content), http.MethodPost, "/shop.v1.Shop/Buy", "Content-Type", "application/grpc-web")
	encoded, err := base64.RawStdEncoding.DecodeString(answer.Header.Get("Grpc-Status-Details-Bin"))
	g.Expect(err).NotTo(HaveOccurred())
	status, info := &statuspb.Status{}, &errdetails.RetryInfo{}
	g.Expect(proto.Unmarshal(encoded, status)).To(Succeed())
	g.Expect(status.GetDetails()).To(HaveLen(1))
	g.Expect(status.GetDetails()[0].UnmarshalTo(info)).To(Succeed())
	return info.GetRetryDelay().AsDuration()
}

func TestTheTeamsContent(t *testing.T) {
	for sentence, c := range map[string]struct {
		method, target, accept string
		status                 int
		contentType, body      string
	}{
		"the page is the team's":                      {"GET", "/shop", "text/html", 503, "text/html; charset=utf-8", "<p>ours"},
		"JSON that is no problem is called JSON":      {"GET", "/shop", "application/problem+json", 503, "application/json", `{"error": "down"}`},
		"text is the team's":                          {"GET", "/shop", "text/plain", 503, "text/plain; charset=utf-8", "ours"},
		"a request that writes gets the page":         {"DELETE", "/logo.svg", "text/plain", 503, "text/plain; charset=utf-8", "ours"},
		"an asset gets 200":                           {"GET", "/logo.svg?v=1", "text/plain", 200, "image/svg+xml", "<svg/>"},
		"another page gets the status of the outage":  {"GET", "/help/index.html", "*/*", 503, "text/html; charset=utf-8", "<p>help"},
		"a folder is its index":                       {"GET", "/help/", "*/*", 503, "text/html; charset=utf-8", "<p>help"},
		"keys with a meaning are no files":            {"GET", "/headers", "text/plain", 503, "text/plain; charset=utf-8", "ours"},
		"no path leads out of the content":            {"GET", "/help/../logo.svg", "text/plain", 503, "text/plain; charset=utf-8", "ours"},
		"an OPTIONS that is no preflight gets 503":    {"OPTIONS", "/", "text/plain", 503, "text/plain; charset=utf-8", "ours"},
		"an unknown method gets the page":             {"BREW", "/pot", "text/plain", 503, "text/plain; charset=utf-8", "ours"},
		"a path that is not there leads to the page":  {"GET", "/logo.svg/", "text/plain", 503, "text/plain; charset=utf-8", "ours"},
		"a path of only slashes leads to the page":    {"GET", "//", "text/plain", 503, "text/plain; charset=utf-8", "ours"},
		"a path that is escaped is the same file":     {"GET", "/logo%2Esvg", "text/plain", 200, "image/svg+xml", "<svg/>"},
		"an escaped way out is no way out either":     {"GET", "/help/..%2flogo.svg", "text/plain", 503, "text/plain; charset=utf-8", "ours"},
		"the page is said to be as long as it is too": {"HEAD", "/shop", "text/html", 503, "text/html; charset=utf-8", "<p>ours"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			answer := ask(web.NewSite(fallback, given(t)), c.method, c.target, "Accept", c.accept)
			g.Expect(answer.StatusCode).To(Equal(c.status))
			g.Expect(answer.Header.Get("Content-Type")).To(Equal(c.contentType))
			g.Expect(textOf(answer)).To(Equal(c.body))
			g.Expect(answer.Header.Get("Access-Control-Allow-Origin")).To(Equal("*"))
			g.Expect(answer.Header.Get("Cache-Control")).To(Equal("no-store"))
			g.Expect(answer.Header.Values("Vary")).To(ContainElement("Origin"))
			g.Expect(answer.ContentLength).To(BeEquivalentTo(len(c.body)))
		})
	}
}

func TestAPreflightIsAnsweredSoThatAScriptSeesTheOutage(t *testing.T) {
	g := NewWithT(t)
	answer := ask(web.NewSite(fallback, given(t)), http.MethodOptions, "/", "Origin", "https://shop.example", "Access-Control-Request-Method", "PUT")
	g.Expect(answer.StatusCode).To(Equal(http.StatusNoContent))
	g.Expect(answer.Header.Get("Access-Control-Allow-Origin")).To(Equal("*"))
}

func TestProbesGet200(t *testing.T) {
	own := fallback
	own.Probes = &criticalv2.Probes{Paths: []string{"/healthz"}, UserAgents: []string{"HealthBot/", ""}}
	for sentence, c := range map[string]struct {
		page          criticalv2.PageFallback
		target, agent string
		want          int
	}{
		"a path of the list":                       {own, "/healthz?full=1", "curl/8", 200},
		"a longer path is another":                 {own, "/healthz/live", "curl/8", 503},
		"a user agent of the list":                 {own, "/", "HealthBot/2.1", 200},
		"an empty prefix matches no client":        {own, "/", "curl/8", 503},
		"an own list stands in for the usual one":  {own, "/", "GoogleHC/1.0", 503},
		"a load balancer that is known everywhere": {fallback, "/", "ELB-HealthChecker/2.0", 200},
	} {
		t.Run(sentence, func(t *testing.T) {
			answer := ask(web.NewSite(c.page, nil), http.MethodGet, c.target, "User-Agent", c.agent)
			g := NewWithT(t)
			g.Expect(answer.StatusCode).To(Equal(c.want))
			wanted := Equal("ok\n")
			if c.want != 200 {
				wanted = Not(wanted)
			}
			g.Expect(textOf(answer)).To(wanted)
		})
	}
}

func TestWhatAPageLeavesOutIsThatOfTheDefaultPage(t *testing.T) {
	defaults := criticalv2.DefaultPage()
	path, agent := defaults.Probes.Paths[0], defaults.Probes.UserAgents[0]
	for sentence, c := range map[string]struct {
		probes                *criticalv2.Probes
		byPath, byAgent, byMy int
	}{
		"a page without probes has those of the default":      {nil, 200, 200, 503},
		"probes without lists are those of the default":       {&criticalv2.Probes{}, 200, 200, 503},
		"an own list of paths leaves the user agents":         {&criticalv2.Probes{Paths: []string{"/my"}}, 503, 200, 200},
		"an own list of user agents leaves the paths":         {&criticalv2.Probes{UserAgents: []string{"My/"}}, 200, 503, 503},
		"an empty list of paths switches off only the paths":  {&criticalv2.Probes{Paths: []string{}}, 503, 200, 503},
		"an empty list of user agents switches off only them": {&criticalv2.Probes{UserAgents: []string{}}, 200, 503, 503},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			left := criticalv2.PageFallback{Probes: c.probes.DeepCopy()}
			site := web.NewSite(left, nil)
			g.Expect(ask(site, http.MethodGet, path).StatusCode).To(Equal(c.byPath))
			g.Expect(ask(site, http.MethodGet, "/", "User-Agent", agent+"1").StatusCode).To(Equal(c.byAgent))
			g.Expect(ask(site, http.MethodGet, "/my").StatusCode).To(Equal(c.byMy))
			g.Expect(left.Probes).To(Equal(c.probes), "the caller's page stays as it is")
			answer := ask(site, http.MethodGet, "/")
			g.Expect(answer.StatusCode).To(BeEquivalentTo(defaults.StatusCode))
			g.Expect(answer.Header.Get("Retry-After")).To(Equal(strconv.Itoa(int(*defaults.RetryAfterSeconds))))
		})
	}
}

func TestAStatusOutOfRangeIs503(t *testing.T) {
	for _, status := range []int32{0, 200, 302, 600, -1} {
		NewWithT(t).Expect(ask(web.NewSite(criticalv2.PageFallback{StatusCode: status}, nil), http.MethodGet, "/").StatusCode).To(Equal(503))
	}
	NewWithT(t).Expect(textOf(ask(web.NewSite(criticalv2.PageFallback{StatusCode: 599}, nil), http.MethodGet, "/", "Accept", "text/plain"))).To(HavePrefix("599 Not Available"))
}

// FuzzServe wants an answer with a status of ours to whatever is asked.
func FuzzServe(f *testing.F) {
	f.Add("GET", "/logo.svg", "text/html;q=0.5,*/*", "curl/8", "application/grpc-web+proto", "down")
	f.Add("POST", "/grpc.health.v1.Health/Watch", "a/b;c=\"\\\"", "", "application/grpc-web-text", "50%\n\xff")
	f.Add("OPTIONS", "*", ",,;q=", "kube-probe/1.30", "", "<script>")
	content, _ := page.Parse(map[string][]byte{"logo.svg": []byte("<svg/>"), "headers": []byte("A: b")})
	f.Fuzz(func(t *testing.T, method, path, accept, agent, contentType, message string) {
		request := &http.Request{Method: method, URL: &url.URL{Path: path}, ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody,
			Header: http.Header{"Accept": {accept}, "User-Agent": {agent}, "Content-Type": {contentType}}}
		recorder := httptest.NewRecorder()
		web.NewSite(criticalv2.PageFallback{Message: message, RetryAfterSeconds: new(int32(5))}, content).ServeHTTP(recorder, request)
		if status := recorder.Code; status != 503 && status != 200 && status != 204 {
			t.Errorf("the status is %d", status)
		}
		if html := recorder.Body.String(); strings.Contains(html, "<script") {
			t.Errorf("the message reached the page as it is: %s", html)
		}
		for _, line := range recorder.Header()["Grpc-Message"] {
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("grpc-message %q is not printable ASCII", line)
			}
		}
	})
}
