package responder_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/responder"
)

// unhurried makes a responder that learns of changes by notification only.
func unhurried(o *responder.Options) { o.Recheck = time.Hour }

// fromTeam is a listener whose page is that of a ConfigMap.
func fromTeam(port int32, configMap string) listener.Listener {
	return listener.Listener{Port: port, Service: "shop", Page: &criticalv2.PageFallback{Message: "built in", ConfigMapName: configMap}}
}

func TestTheTableIsFollowed(t *testing.T) {
	g := NewWithT(t)
	w := start(t, 2, nil, unhurried)
	g.Expect(w.text(1)).To(ContainSubstring("not available at the moment"), "the built-in page, before anything is assigned")
	for _, message := range []string{"first", "second", "third"} {
		w.writeTable([]listener.Listener{{Port: w.ports.First + 1, Service: "shop", Page: says(message)}})
		g.Eventually(func() string { return w.text(1) }, timeout).Should(ContainSubstring(message))
	}
	w.writeTable(nil)
	g.Eventually(func() string { return w.text(1) }, timeout).Should(ContainSubstring("not available at the moment"))
}

func TestAnInvalidTableLeavesTheLastValidOne(t *testing.T) {
	for sentence, table := range map[string]string{
		"cut off":                   `{"listeners": [`,
		"of another shape":          `{"listeners": "none"}`,
		"empty":                     ``,
		"with one port given twice": `{"pages": [{}], "listeners": [{"port": 20001, "service": "a"}, {"port": 20001, "service": "b"}]}`,
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			w := start(t, 1, shop(), unhurried)
			swap(t, filepath.Dir(w.table), map[string]string{listener.Key: table})
			g.Eventually(w.metrics, timeout).Should(ContainSubstring(`critical_service_responder_reloads_total{result="failed",what="table"} 1`))
			g.Expect(w.text(0)).To(ContainSubstring("The shop is closed."))
			w.writeTable([]listener.Listener{{Port: w.ports.First, Service: "shop", Page: says("fixed")}})
			g.Eventually(func() string { return w.text(0) }, timeout).Should(ContainSubstring("fixed"))
		})
	}
}

func TestATableThatGoesLeavesTheLastValidOne(t *testing.T) {
	g := NewWithT(t)
	w := start(t, 1, shop(), unhurried)
	g.Expect(os.Remove(w.table)).To(Succeed())
	g.Eventually(w.metrics, timeout).Should(ContainSubstring(`critical_service_responder_reloads_total{result="failed",what="table"} 1`))
	g.Expect(w.text(0)).To(ContainSubstring("The shop is closed."))
}

func TestATableIsFoundWithoutANotification(t *testing.T) {
	g := NewWithT(t)
	// The folder does not exist when the responder starts, so it is not watched.
	w := start(t, 1, nil, func(o *responder.Options) {
		o.Table = filepath.Join(filepath.Dir(filepath.Dir(o.Table)), "later", listener.Key)
		o.Recheck = 50 * time.Millisecond
	})
	w.table = filepath.Join(filepath.Dir(filepath.Dir(w.table)), "later", listener.Key)
	w.writeTable([]listener.Listener{{Port: w.ports.First, Service: "shop", Page: says("found")}})
	g.Eventually(func() string { return w.text(0) }, timeout).Should(ContainSubstring("found"))
}

func TestContentIsFollowed(t *testing.T) {
	g := NewWithT(t)
	w := start(t, 1, []listener.Listener{fromTeam(0, "shop-page")}, unhurried)
	folder := filepath.Join(w.content, "shop-page")
	g.Expect(w.text(0)).To(ContainSubstring("built in"), "the ConfigMap is not there")
	mount(t, folder, map[string]string{"503.txt": "one", "logo.svg": "<svg>one"})
	for _, text := range []string{"one", "two", "three"} {
		swap(t, folder, map[string]string{"503.txt": text, "logo.svg": "<svg>" + text})
		g.Eventually(func() string { return w.text(0) }, timeout).Should(Equal(text))
		status, logo, _, err := get(t.Context(), w.url(0, "/logo.svg"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(status).To(Equal(http.StatusOK))
		g.Expect(logo).To(Equal("<svg>" + text))
	}
	swap(t, folder, map[string]string{"503.txt": "", "logo.svg": "<svg>"})
	g.Eventually(func() string { return w.text(0) }, timeout).Should(ContainSubstring("built in"), "the built-in page replaces an invalid key")
	g.Expect(w.metrics()).To(ContainSubstring(`critical_service_responder_reloads_total{result="failed",what="content"} 2`))
	swap(t, folder, nil)
	status := func() int {
		status, _, _, _ := get(t.Context(), w.url(0, "/logo.svg"))
		return status
	}
	g.Eventually(status, timeout).Should(Equal(http.StatusServiceUnavailable), "the ConfigMap is gone")
}

func TestContentIsReadFromItsFolderOnly(t *testing.T) {
	g := NewWithT(t)
	w := start(t, 3, []listener.Listener{fromTeam(0, "../secret"), fromTeam(1, "links"), fromTeam(2, "..")}, unhurried)
	secret := filepath.Join(filepath.Dir(w.content), "secret")
	g.Expect(os.MkdirAll(secret, 0o755)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(secret, "503.txt"), []byte("secret"), 0o600)).To(Succeed())
	links := filepath.Join(t.TempDir(), "links")
	g.Expect(os.MkdirAll(links, 0o755)).To(Succeed())
	g.Expect(os.Symlink(filepath.Join(secret, "503.txt"), filepath.Join(links, "503.txt"))).To(Succeed())
	g.Expect(os.Rename(links, filepath.Join(w.content, "links"))).To(Succeed())
	g.Eventually(w.metrics, timeout).Should(ContainSubstring(`critical_service_responder_reloads_total{result="failed",what="content"} 4`))
	for n := range int32(3) {
		g.Expect(w.text(n)).To(ContainSubstring("built in"))
	}
}

func TestContentOfAllTeamsIsBounded(t *testing.T) {
	g := NewWithT(t)
	w := start(t, 2, []listener.Listener{fromTeam(0, "small"), fromTeam(1, "large")}, func(o *responder.Options) { o.MaxContentBytes = 100 })
	mount(t, filepath.Join(w.content, "small"), map[string]string{"503.txt": "small"})
	g.Eventually(func() string { return w.text(0) }, timeout).Should(Equal("small"))
	mount(t, filepath.Join(w.content, "large"), map[string]string{"503.txt": string(make([]byte, 200))})
	g.Eventually(w.metrics, timeout).Should(ContainSubstring(`critical_service_responder_reloads_total{result="failed",what="content"} 3`))
	g.Expect(w.text(0)).To(Equal("small"))
	g.Expect(w.text(1)).To(ContainSubstring("built in"))
}
