package web_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/page"
	"github.com/critical-service/operator/internal/responder/web"
)

func TestThePageSpeaksTheLanguageOfTheVisitor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		site := web.NewSite(criticalv2.PageFallback{}, &page.Content{ETA: time.Now().Add(40 * time.Minute)})

		german := ask(site, http.MethodGet, "/", "Accept-Language", "de-CH,de;q=0.9,en;q=0.8")
		g.Expect(german.Header.Get("Content-Language")).To(Equal("de"))
		g.Expect(textOf(german)).To(And(
			ContainSubstring(`<html lang="de" dir="ltr">`), ContainSubstring(`<title>Wir sind gleich wieder da</title>`),
			ContainSubstring(`Dieser Dienst ist im Moment nicht erreichbar.`), Not(ContainSubstring(`lang=""`)),
			ContainSubstring(`">in etwa 40 Minuten</time> wieder da</p>`),
			ContainSubstring("Diese Seite versucht es in 30 Sekunden von selbst erneut."),
			ContainSubstring(`lang="en" dir="ltr">503 Service Unavailable</p>`),
		))

		arabic := ask(site, http.MethodGet, "/", "Accept-Language", "ar")
		g.Expect(arabic.Header.Get("Content-Language")).To(Equal("ar"))
		g.Expect(textOf(arabic)).To(And(ContainSubstring(`<html lang="ar" dir="rtl">`), ContainSubstring("بعد حوالي 40 دقيقة")))

		french := ask(site, http.MethodGet, "/", "Accept", "text/plain", "Accept-Language", "fr")
		g.Expect(french.Header.Get("Content-Language")).To(Equal("fr"))
		g.Expect(textOf(french)).To(Equal("503 Service Unavailable\n\n" +
			"Ce service n’est pas disponible pour le moment. Il devrait être bientôt de retour.\nRetour prévu dans environ 40 minutes\n"))

		<-time.After(31 * time.Minute) // Of the time in this bubble.
		g.Expect(textOf(ask(site, http.MethodGet, "/"))).To(ContainSubstring(">in about 9 minutes</time>"), "times are from the request on")
		<-time.After(9 * time.Minute)
		g.Expect(textOf(ask(site, http.MethodGet, "/"))).NotTo(ContainSubstring("Expected back"))
	})
}

func TestAStatusThatDoesNotPromiseAReturn(t *testing.T) {
	answer := ask(web.NewSite(criticalv2.PageFallback{StatusCode: 410}, nil), http.MethodGet, "/", "Accept-Language", "fr")
	NewWithT(t).Expect(textOf(answer)).To(And(ContainSubstring("<h1>Indisponible pour le moment</h1>"), ContainSubstring(">410 Gone</p>")))
}

func TestTheMessageOfATeamIsShownAsItIs(t *testing.T) {
	g := NewWithT(t)
	site := web.NewSite(criticalv2.PageFallback{Message: "אנחנו עוברים דירה."}, nil)
	answer := ask(site, http.MethodGet, "/", "Accept-Language", "fr")
	g.Expect(answer.Header.Get("Content-Language")).To(Equal("fr"))
	g.Expect(textOf(answer)).To(And(
		ContainSubstring(`<html lang="fr" dir="ltr">`),
		ContainSubstring(`<p class="message" dir="auto" lang="">אנחנו עוברים דירה.</p>`),
	))
	g.Expect(textOf(ask(site, http.MethodGet, "/", "Accept", "text/plain", "Accept-Language", "ar"))).To(HavePrefix("503 Service Unavailable\n\nאנחנו עוברים דירה.\n"))
}

func TestProgramsGetTheSameInEveryLanguage(t *testing.T) {
	for _, accept := range []string{"application/json", "application/problem+json"} {
		g := NewWithT(t)
		site := web.NewSite(criticalv2.PageFallback{}, nil)
		german := ask(site, http.MethodGet, "/", "Accept", accept, "Accept-Language", "de")
		g.Expect(german.Header).NotTo(HaveKey("Content-Language"))
		g.Expect(textOf(german)).To(Equal(textOf(ask(site, http.MethodGet, "/", "Accept", accept))))
	}
}

func TestTheTeamsPageHasOneLanguage(t *testing.T) {
	g := NewWithT(t)
	content := given(t)
	content.Headers = append(content.Headers, page.Header{Name: "Content-Language", Value: "nl"})
	site := web.NewSite(fallback, content)
	for _, accept := range []string{"text/html", "text/plain"} {
		answer := ask(site, http.MethodGet, "/", "Accept", accept, "Accept-Language", "de")
		g.Expect(answer.Header.Values("Content-Language")).To(Equal([]string{"nl"}), "they say which")
		g.Expect(answer.Header.Values("Vary")).To(Equal([]string{"Origin", "Accept"}))
	}

	content.HTML = nil
	builtIn := ask(web.NewSite(fallback, content), http.MethodGet, "/", "Accept", "text/html", "Accept-Language", "de")
	g.Expect(builtIn.Header.Values("Content-Language")).To(Equal([]string{"de"}), "what stands in for a part of theirs is ours")
	g.Expect(builtIn.Header.Values("Vary")).To(Equal([]string{"Origin", "Accept, Accept-Language"}))
}

// What strangers choose, the language, keeps no more pages than there is room for.
func TestEachVisitorGetsTheirOwnPage(t *testing.T) {
	g := NewWithT(t)
	for round := range 2 {
		for i := range 400 {
			status := int32(400 + i%200)
			site := web.NewSite(criticalv2.PageFallback{StatusCode: status, Message: strconv.Itoa(i)}, nil)
			for language, again := range map[string]string{"de": "Erneut versuchen", "ar": "أعد المحاولة"} {
				g.Expect(textOf(ask(site, http.MethodGet, "/", "Accept-Language", language))).To(And(
					ContainSubstring(again), ContainSubstring(">"+strconv.Itoa(i)+"</p>"), ContainSubstring(">"+strconv.Itoa(int(status))+" ")), "round %d", round)
			}
		}
	}
}

// BenchmarkPage is what one page costs, without the connection.
func BenchmarkPage(b *testing.B) {
	site := web.NewSite(fallback, nil)
	for name, language := range map[string]string{"of a client that says nothing": "", "of a browser": "de-CH,de;q=0.9,en;q=0.8"} {
		b.Run(name, func(b *testing.B) {
			request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			if language != "" {
				request.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
				request.Header.Set("Accept-Language", language)
			}
			b.ReportAllocs()
			for b.Loop() {
				site.ServeHTTP(discard{}, request)
			}
		})
	}
}

// discard is a client that reads nothing.
type discard http.Header

func (d discard) Header() http.Header          { return http.Header(d) }
func (discard) Write(text []byte) (int, error) { return len(text), nil }
func (discard) WriteHeader(int)                {}
