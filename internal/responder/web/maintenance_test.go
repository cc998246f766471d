package web_test

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/page"
	"github.com/critical-service/operator/internal/responder/web"
)

// during is the site of a page while a maintenance is announced.
func during(content *page.Content, m criticalv2.Announcement) *web.Site {
	return web.NewSite(web.Announced(fallback, content, &m))
}

func endsAt(at time.Time) *metav1.Time { return new(metav1.NewTime(at)) }

func TestAMaintenanceIsAnnounced(t *testing.T) {
	g := NewWithT(t)
	ahead := time.Date(2999, 1, 31, 17, 30, 0, 0, time.UTC)
	site := during(given(t), criticalv2.Announcement{Message: "We move house.", Until: endsAt(ahead)})

	answer := ask(site, http.MethodGet, "/", "Accept", "text/html")
	g.Expect(answer.StatusCode).To(Equal(503))
	g.Expect(answer.Header.Get("Retry-After")).To(Equal("Thu, 31 Jan 2999 17:30:00 GMT"))
	g.Expect(answer.Header.Get("Access-Control-Allow-Origin")).To(Equal("*"), "the team's headers stay")
	html := textOf(answer)
	g.Expect(html).To(And(ContainSubstring("We move house."), MatchRegexp(`Expected back <time datetime="2999-01-31T17:30:00Z">in about \d+ days</time>`)))
	g.Expect(html).NotTo(ContainSubstring("ours"), "the built-in page goes before the team's own")

	problem := textOf(ask(site, http.MethodGet, "/", "Accept", "application/problem+json"))
	g.Expect(problem).To(And(ContainSubstring(`"detail":"We move house."`), ContainSubstring(`"expectedBack":"2999-01-31T17:30:00Z"`)))
	g.Expect(textOf(ask(site, http.MethodGet, "/", "Accept", "text/plain"))).To(
		MatchRegexp(`^503 Service Unavailable\n\nWe move house\.\nExpected back in about \d+ days\n$`))
	g.Expect(ask(site, http.MethodPost, "/shop.v1.Shop/Buy", "Content-Type", "application/grpc-web").Header.Get("Grpc-Message")).
		To(Equal("We move house."))

	g.Expect(ask(site, http.MethodGet, "/logo.svg").StatusCode).To(Equal(200), "the team's files stay")
	g.Expect(textOf(ask(site, http.MethodGet, "/help/"))).To(ContainSubstring("We move house."), "the team's pages do not")
}

func TestAMaintenanceWithoutAMessageKeepsTheTeamsPage(t *testing.T) {
	g := NewWithT(t)
	content := given(t)
	content.ETA = time.Date(2998, 1, 1, 0, 0, 0, 0, time.UTC)
	answer := ask(during(content, criticalv2.Announcement{Until: endsAt(time.Date(2999, 1, 31, 17, 30, 0, 0, time.UTC))}), http.MethodGet, "/")
	g.Expect(answer.Header.Get("Retry-After")).To(Equal("Thu, 31 Jan 2999 17:30:00 GMT"), "its end goes before the team's ETA")
	g.Expect(textOf(answer)).To(Equal("<p>ours"))

	endless := ask(during(content, criticalv2.Announcement{}), http.MethodGet, "/")
	g.Expect(endless.Header.Get("Retry-After")).To(Equal("Mon, 01 Jan 2998 00:00:00 GMT"), "the team may know what the operator does not")
}

func TestAMaintenanceThatAsksClientsToComeBackSooner(t *testing.T) {
	g := NewWithT(t)
	site := during(given(t), criticalv2.Announcement{
		Message: "We move house.", Until: endsAt(time.Date(2999, 1, 31, 17, 30, 0, 0, time.UTC)), RetryAfterSeconds: new(int32(77)),
	})
	answer := ask(site, http.MethodGet, "/", "Accept", "text/plain")
	g.Expect(answer.Header.Get("Retry-After")).To(Equal("77"))
	g.Expect(textOf(answer)).To(MatchRegexp(`Expected back in about \d+ days`), "people still read the end")
}

func TestAMaintenanceThatIsOverHasNoETA(t *testing.T) {
	g := NewWithT(t)
	answer := ask(during(nil, criticalv2.Announcement{Message: "We move house.", Until: endsAt(time.Unix(1, 0))}), http.MethodGet, "/")
	g.Expect(answer.Header.Get("Retry-After")).To(Equal("30"))
	g.Expect(textOf(answer)).To(And(ContainSubstring("We move house."), Not(ContainSubstring("Expected back"))))
}

func TestAnAnnouncementLeavesThePageAsItWas(t *testing.T) {
	g := NewWithT(t)
	content := given(t)
	web.Announced(fallback, content, &criticalv2.Announcement{Message: "We move house."})
	g.Expect(content).To(Equal(given(t)))
	kept, same := web.Announced(fallback, content, nil)
	g.Expect(kept).To(Equal(fallback))
	g.Expect(same).To(BeIdenticalTo(content))
}
