package browser_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/page"
	"github.com/critical-service/operator/internal/responder/web"
	"github.com/critical-service/operator/test/browser"
)

// chromium starts a browser. Where it is missing the test is skipped, or fails where
// clients are required, as in CI.
func chromium(t *testing.T) context.Context {
	t.Helper()
	if _, err := exec.LookPath(browser.Program); err != nil {
		const reason = "%s is missing: apt-get install %s"
		if os.Getenv("CLIENTS_REQUIRED") != "" {
			t.Fatalf(reason+" (CLIENTS_REQUIRED is set)", browser.Program, browser.Package)
		}
		t.Skipf(reason, browser.Program, browser.Package)
	}
	// The test's own context ends before its cleanup, which closes the browser.
	started, stop, err := browser.Start(context.WithoutCancel(t.Context()))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(stop)
	return started
}

// open opens a page.
func open(chromium context.Context, t *testing.T, url string, view browser.View) *browser.Page {
	t.Helper()
	opened, err := browser.Open(chromium, url, view)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(opened.Close)
	return opened
}

// serve serves a page, and gives its address.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// screens are those on which every page is read. The narrowest is that on which WCAG
// wants no scrolling in two directions.
var screens = map[string]browser.View{
	"light":       {Width: 1200, Height: 800},
	"dark":        {Width: 1200, Height: 800, Dark: true},
	"phone":       {Width: 390, Height: 844, Scale: 2, Phone: true},
	"dark phone":  {Width: 390, Height: 844, Scale: 2, Phone: true, Dark: true},
	"narrow":      {Width: 320, Height: 640, Scale: 2, Phone: true},
	"right-left":  {Width: 1200, Height: 800, Languages: "ar"},
	"Hebrew, too": {Width: 390, Height: 844, Scale: 2, Phone: true, Languages: "he"},
}

// isFine wants nothing wrong with a page, and no request but those that are named.
func isFine(t *testing.T, opened *browser.Page, requests ...string) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(opened.Findings()).To(BeEmpty())
	g.Expect(opened.Errors()).To(BeEmpty())
	g.Expect(opened.Requests()).To(Equal(requests))
}

// isDark wants light letters if the visitor prefers dark pages, and dark letters if not. What they stand
// on is in contrast to them, as the findings say.
func isDark(t *testing.T, opened *browser.Page, want bool) {
	t.Helper()
	g := NewWithT(t)
	letters, err := chromedp.Run(opened.Context, chromedp.Evaluate[[]float64](
		`getComputedStyle(document.querySelector('h1')).color.match(/[\d.]+/g).slice(0, 3).map(Number)`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(letters).To(HaveLen(3))
	light := (letters[0]+letters[1]+letters[2])/3 > 127
	g.Expect(light).To(Equal(want), "letters of the colour %v", letters)
}

func TestTheBuiltInPageOnEveryScreen(t *testing.T) {
	chromium := chromium(t)
	quiet := new(int32(0))
	for sentence, site := range map[string]*web.Site{
		"by default":                web.NewSite(criticalv2.PageFallback{}, nil),
		"without a reload":          web.NewSite(criticalv2.PageFallback{StatusCode: 599, RetryAfterSeconds: quiet}, nil),
		"with a message and an end": web.NewSite(criticalv2.PageFallback{Message: "We move house."}, &page.Content{ETA: time.Now().Add(time.Hour)}),
		"with a word of 1,024 letters": web.NewSite(criticalv2.PageFallback{
			Message: strings.Repeat("Baustellenschild", criticalv2.MaxMaintenanceMessage/16),
		}, nil),
	} {
		url := serve(t, site)
		for screen, view := range screens {
			t.Run(sentence+", "+screen, func(t *testing.T) {
				opened := open(chromium, t, url, view)
				isFine(t, opened, url)
				isDark(t, opened, view.Dark)
			})
		}
	}
}

// A line of one word below a full one reads as a mistake.
func TestTheLinesOfTheBuiltInPageAreAboutAsLong(t *testing.T) {
	chromium := chromium(t)
	url := serve(t, web.NewSite(criticalv2.PageFallback{}, &page.Content{ETA: time.Now().Add(40 * time.Minute)}))
	// The width of each line of each paragraph, as a part of the paragraph's widest.
	const shortest = `Math.min(...[...document.querySelectorAll('p')].map((paragraph) => {
		const range = document.createRange();
		range.selectNodeContents(paragraph);
		const lines = Object.values(Object.groupBy(range.getClientRects(), (box) => Math.round(box.bottom / 10)));
		const widths = lines.map((boxes) => Math.max(...boxes.map((b) => b.right)) - Math.min(...boxes.map((b) => b.left)));
		return Math.min(...widths) / Math.max(...widths);
	}))`
	for sentence, view := range map[string]browser.View{
		"English on a desk": {Width: 960, Height: 640, Languages: "en"},
		"Arabic on a phone": {Width: 390, Height: 720, Phone: true, Languages: "ar"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			share, err := chromedp.Run(open(chromium, t, url, view).Context, chromedp.Evaluate[float64](shortest))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(share).To(BeNumerically(">", 0.5))
		})
	}
}

func TestTheBuiltInPageInEveryLanguage(t *testing.T) {
	chromium := chromium(t)
	url := serve(t, web.NewSite(criticalv2.PageFallback{}, &page.Content{ETA: time.Now().Add(40 * time.Minute)}))
	for language, want := range map[string]struct{ direction, heading string }{
		"en": {"ltr", "We’ll be right back"}, "ar": {"rtl", "سنعود بعد قليل"}, "de": {"ltr", "Wir sind gleich wieder da"},
		"es": {"ltr", "Volvemos enseguida"}, "fr": {"ltr", "Nous revenons tout de suite"}, "he": {"rtl", "תכף נשוב"},
		"it": {"ltr", "Torniamo subito"}, "ja": {"ltr", "まもなく再開します"}, "ko": {"ltr", "곧 돌아오겠습니다"},
		"nl": {"ltr", "We zijn zo terug"}, "pl": {"ltr", "Zaraz wracamy"}, "pt": {"ltr", "Voltamos já"},
		"ru": {"ltr", "Мы скоро вернёмся"}, "tr": {"ltr", "Hemen döneceğiz"}, "uk": {"ltr", "Ми скоро повернемося"},
		"zh-Hans": {"ltr", "我们马上回来"}, "zh-Hant": {"ltr", "我們馬上回來"},
	} {
		t.Run(language, func(t *testing.T) {
			g := NewWithT(t)
			view := screens["narrow"]
			view.Languages = language
			opened := open(chromium, t, url, view)
			isFine(t, opened, url)
			root := "document.documentElement"
			g.Expect(chromedp.Run(opened.Context, chromedp.Evaluate[string](root+".lang"))).To(Equal(language))
			g.Expect(chromedp.Run(opened.Context, chromedp.Evaluate[string](`getComputedStyle(`+root+`).direction`))).To(Equal(want.direction))
			g.Expect(chromedp.Run(opened.Context, chromedp.Title())).To(Equal(want.heading))
		})
	}
}

func TestAMessageIsReadInItsOwnDirection(t *testing.T) {
	g := NewWithT(t)
	url := serve(t, web.NewSite(criticalv2.PageFallback{Message: "אנחנו עוברים דירה."}, nil))
	opened := open(chromium(t), t, url, screens["light"])
	g.Expect(chromedp.Run(opened.Context, chromedp.Evaluate[string](`getComputedStyle(document.querySelector('.message')).direction`))).To(Equal("rtl"))
	g.Expect(chromedp.Run(opened.Context, chromedp.Evaluate[string](`getComputedStyle(document.querySelector('h1')).direction`))).To(Equal("ltr"))
}

// samples are the pages of teams that are shown in the repository: each is the site of the
// one ConfigMap in the file.
func samples(t *testing.T) map[string]http.Handler {
	t.Helper()
	g := NewWithT(t)
	sites := map[string]http.Handler{}
	for _, name := range []string{"docs/responder.md", "config/samples/mycrd.com_v2_criticalservice_page_content.yaml"} {
		text, err := os.ReadFile("../../" + name)
		g.Expect(err).NotTo(HaveOccurred())
		_, object, found := strings.Cut(string(text), "apiVersion: v1\nkind: ConfigMap\n")
		g.Expect(found).To(BeTrue(), name)
		object, _, _ = strings.Cut(object, "\n```")
		config := corev1.ConfigMap{}
		g.Expect(yaml.Unmarshal([]byte(object), &config)).To(Succeed(), name)
		files := map[string][]byte{}
		for key, value := range config.Data {
			files[key] = []byte(value)
		}
		content, problems := page.Parse(files)
		g.Expect(problems).To(BeEmpty(), name)
		sites[name] = web.NewSite(criticalv2.PageFallback{}, content)
	}
	return sites
}

func TestTheSamplesOfATeamsPageOnEveryScreen(t *testing.T) {
	chromium := chromium(t)
	for name, site := range samples(t) {
		url := serve(t, site)
		for screen, view := range screens {
			t.Run(name+", "+screen, func(t *testing.T) {
				opened := open(chromium, t, url, view)
				style, err := chromedp.Run(opened.Context, chromedp.Evaluate[string]("document.styleSheets[0].href"))
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
				NewWithT(t).Expect(style).To(HavePrefix(url))
				isFine(t, opened, url, style)
				isDark(t, opened, view.Dark)
			})
		}
	}
}

// returning is a Service that is in outage until it is back.
type returning struct {
	outage http.Handler
	back   atomic.Bool
}

func (s *returning) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.back.Load() {
		s.outage.ServeHTTP(w, r)
		return
	}
	_, _ = w.Write([]byte("<title>The shop</title>"))
}

func TestAnOpenPageBecomesTheApplication(t *testing.T) {
	chromium := chromium(t)
	pages := samples(t)
	pages["built in"] = web.NewSite(criticalv2.PageFallback{}, nil)
	for name, site := range pages {
		service := &returning{outage: site}
		url := serve(t, service)
		t.Run(name+", by itself after 30 seconds", func(t *testing.T) {
			g := NewWithT(t)
			service.back.Store(false)
			opened := open(chromium, t, url, screens["light"])
			service.back.Store(true)
			pass(g, opened, 20*time.Second) // What passed before is real time, and more on a busy machine.
			g.Expect(chromedp.Run(opened.Context, chromedp.Title())).NotTo(Equal("The shop"))
			pass(g, opened, 20*time.Second)
			g.Eventually(func() (string, error) { return chromedp.Run(opened.Context, chromedp.Title()) }, "1m").Should(Equal("The shop"))
		})
		t.Run(name+", by its link", func(t *testing.T) {
			g := NewWithT(t)
			service.back.Store(false)
			opened := open(chromium, t, url, screens["phone"])
			service.back.Store(true)
			g.Expect(chromedp.Do(opened.Context, chromedp.Click(chromedp.CSS("main a")))).To(Succeed())
			g.Eventually(func() (string, error) { return chromedp.Run(opened.Context, chromedp.Title()) }, "1m").Should(Equal("The shop"))
		})
	}
}

// pass lets time pass for a page, and takes none itself.
func pass(g Gomega, opened *browser.Page, while time.Duration) {
	expired := chromedp.Events(opened.Context, emulation.VirtualTimeBudgetExpired)
	_, err := chromedp.Call(opened.Context, emulation.SetVirtualTimePolicy, emulation.SetVirtualTimePolicyParams{
		Policy: emulation.VirtualTimePolicyPauseIfNetworkFetchesPending, Budget: new(float64(while.Milliseconds())),
	})
	g.Expect(err).NotTo(HaveOccurred())
	for _, err := range expired {
		g.Expect(err).NotTo(HaveOccurred())
		break
	}
}

// A check that finds nothing may have lost its eyes.
func TestWhatIsWrongIsFound(t *testing.T) {
	g := NewWithT(t)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "script-src 'unsafe-inline'")
		if r.URL.Path == "/" {
			_, _ = w.Write([]byte(`<!doctype html><html lang="English" dir="auto"><meta name="viewport" content="user-scalable=no">
				<style>div { background: linear-gradient(#fff, #777) } b { color: #767676 } i { opacity: .5 }</style>
				<body><div><b>grey</b></div><i>faint</i><p style="width: 150vw">` + strings.Repeat("wide ", 100) + `</p>
				<img src="/picture.png" id="one"><svg id="one" width="9" height="9"></svg><a href=""></a><script src="/script.js"></script><script>none()</script>`))
		}
	}))
	opened := open(chromium(t), t, url, screens["phone"])
	found, err := opened.Findings()
	g.Expect(err).NotTo(HaveOccurred())
	text := strings.Join(found, "\n")
	for _, sentence := range []string{
		`the contrast of "grey" is 1.0`, `the contrast of "faint" is 3.9`, `"grey" is in no landmark`, `wide" is wider than the screen`, "it scrolls sideways",
		`the language is "English"`, `the direction is "auto"`, "it has no title", "it has 0 headings", "it has 0 main landmarks",
		"it has no viewport for phones", "it cannot be zoomed", "picture.png has no text", "a drawing is neither named nor hidden",
		"a link has no name", "is too small to touch", "an id is there twice",
	} {
		g.Expect(text).To(ContainSubstring(sentence))
	}
	g.Expect(opened.Requests()).To(ContainElement(url + "picture.png"))
	g.Expect(strings.Join(opened.Errors(), "\n")).To(And(ContainSubstring("Uncaught"), ContainSubstring("script.js")))
}
