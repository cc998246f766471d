package meter

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
)

func TestHeadersAreBoundedForAllClientsTogether(t *testing.T) {
	large := "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 2*mostOfHeader)
	for sentence, c := range map[string]struct {
		sent string
		// others is what there is of all other headers, and isServed whether a request is under way.
		others   int64
		isServed bool
		want     types.GomegaMatcher
	}{
		"a large header alone is taken":                     {large, 0, false, Succeed()},
		"a large header beside many is not":                 {large, mostOfHeaders, false, MatchError(errHeaders)},
		"many short lines beside many headers are not":      {strings.Repeat("X: x\r\n", 100), mostOfHeaders, false, MatchError(errHeaders)},
		"a small header beside many is taken":               {"GET / HTTP/1.1\r\nHost: a\r\n", mostOfHeaders, false, Succeed()},
		"a body beside many headers is taken":               {large, mostOfHeaders, true, Succeed()},
		"HTTP/2 beside many headers has a bound of its own": {preface + large, mostOfHeaders, false, Succeed()},
	} {
		t.Run(sentence, func(t *testing.T) {
			g, all := NewWithT(t), &listener{}
			all.headers.Store(c.others)
			client := &connection{of: all}
			client.serve(c.isServed)
			g.Expect(client.received([]byte(c.sent))).To(c.want)
			client.serve(true)
			g.Expect(all.headers.Load()).To(Equal(c.others), "what was answered counts no more")
		})
	}
}

func TestHTTP2IsSeenHoweverItArrives(t *testing.T) {
	for each := 1; each <= len(preface); each++ {
		g, client := NewWithT(t), &connection{of: &listener{}}
		for sent := preface; sent != ""; sent = sent[min(each, len(sent)):] {
			g.Expect(isHTTP2(client)).To(BeFalse())
			g.Expect(client.received([]byte(sent[:min(each, len(sent))]))).To(Succeed())
		}
		g.Expect(isHTTP2(client)).To(BeTrue())
	}
	other := &connection{of: &listener{}}
	NewWithT(t).Expect(other.received([]byte("POST / HTTP/1.1\r\n\r\n" + preface))).To(Succeed())
	NewWithT(t).Expect(isHTTP2(other)).To(BeFalse())
}

// What has no memory is refused without an answer, and is traffic all the same.
func TestARequestWithoutMemoryIsAborted(t *testing.T) {
	g := NewWithT(t)
	m := New(Options{App: "127.0.0.1:1", Log: slog.New(slog.DiscardHandler)})
	g.Expect(m.memory.take(maxMemory)).To(BeTrue())
	g.Expect(func() { m.serve(nil, httptest.NewRequest(http.MethodGet, "/", http.NoBody)) }).To(PanicWith(http.ErrAbortHandler))
	g.Expect(m.total.Load()).To(Equal(int64(1)))
	m.memory.leave(maxMemory)
	g.Expect(m.memory.take(cost(http.Header{"X": {"x"}}))).To(BeTrue())
}
