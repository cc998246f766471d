package responder_test

import (
	"bufio"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
)

func TestAMaintenanceIsFollowedInEveryProtocol(t *testing.T) {
	g := NewWithT(t)
	w := start(t, 2, []listener.Listener{fromTeam(0, "shop-page"), {Port: 1, Service: "cache", AppProtocol: "redis", Page: says("soon")}}, unhurried)
	mount(t, filepath.Join(w.content, "shop-page"), map[string]string{"503.txt": "ours"})
	g.Eventually(func() string { return w.text(0) }, timeout).Should(Equal("ours"))

	// refusal is what a client of Redis reads.
	refusal := func() string {
		connection := w.dial(1)
		_, err := connection.Write([]byte("PING\r\n"))
		g.Expect(err).NotTo(HaveOccurred())
		line, err := bufio.NewReader(connection).ReadString('\n')
		g.Expect(err).NotTo(HaveOccurred())
		return line
	}
	g.Expect(refusal()).To(ContainSubstring("soon"))

	announce := func(m *criticalv2.Announcement) {
		page, cache := fromTeam(w.ports.First, "shop-page"), listener.Listener{Port: w.ports.First + 1, Service: "cache", AppProtocol: "redis", Page: says("soon")}
		page.Maintenance, cache.Maintenance = m, m
		w.writeTable([]listener.Listener{page, cache})
	}
	until := metav1.NewTime(time.Now().Add(40*24*time.Hour + time.Hour))
	announce(&criticalv2.Announcement{Message: "We move house.", Until: &until})
	g.Eventually(func() string { return w.text(0) }, timeout).Should(And(
		ContainSubstring("We move house."), ContainSubstring("Expected back in about 40 days")))
	g.Eventually(refusal, timeout).Should(ContainSubstring("We move house."))

	announce(&criticalv2.Announcement{Message: "We move house.", Until: &until, RetryAfterSeconds: new(int32(77))})
	g.Eventually(func() string {
		_, _, answer, err := get(t.Context(), w.url(0, "/"))
		g.Expect(err).NotTo(HaveOccurred())
		return answer.Header.Get("Retry-After")
	}, timeout).Should(Equal("77"), "clients are asked to come back before the end")

	announce(nil)
	g.Eventually(func() string { return w.text(0) }, timeout).Should(Equal("ours"), "the team's page is back")
	g.Eventually(refusal, timeout).Should(ContainSubstring("soon"))
}
