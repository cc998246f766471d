package listener_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
)

func newTable(listeners int32) *listener.Table {
	table := &listener.Table{Next: listener.First + listeners}
	for i := range listeners {
		page := criticalv2.DefaultPage()
		if i%10 == 9 {
			page.Message = "Back at nine."
		}
		table.Listeners = append(table.Listeners, listener.Listener{
			Port: listener.First + i, Service: fmt.Sprintf("shop-%d", i), PortName: "http", ServicePort: 80, Page: page,
		})
	}
	return table
}

func TestWhatIsEncodedIsParsed(t *testing.T) {
	for _, size := range []int32{0, 1, 25} {
		g := NewWithT(t)
		table := newTable(size)
		data, err := table.Encode()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(listener.Parse(data)).To(Equal(table))
		again, err := table.Encode()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again).To(Equal(data))
	}
}

func TestThousandsOfListenersFitIntoAConfigMap(t *testing.T) {
	g := NewWithT(t)
	data, err := newTable(6000).Encode()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(data)).To(BeNumerically("<", 1_000_000))
}

func TestATableThatIsNotValidSaysWhy(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"no JSON":                       {"{", "unexpected end"},
		"a port that is not a number":   {`{"pages":[{}],"listeners":[{"port":"http","page":0}]}`, "port"},
		"pages that are something else": {`{"pages":{}}`, "pages"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := listener.Parse([]byte(test.text))
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(test.want)))
		})
	}
}

func TestListenersShareTheirPages(t *testing.T) {
	g := NewWithT(t)
	data, err := newTable(25).Encode()
	g.Expect(err).NotTo(HaveOccurred())
	table, err := listener.Parse(data)
	g.Expect(err).NotTo(HaveOccurred())
	pages := map[*criticalv2.PageFallback]bool{}
	for _, l := range table.Listeners {
		pages[l.Page] = true
	}
	g.Expect(pages).To(HaveLen(2))
}

func TestAListenerWithoutAPageHasTheZeroPage(t *testing.T) {
	g := NewWithT(t)
	data, err := (&listener.Table{Listeners: []listener.Listener{{Port: 20000}}}).Encode()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(listener.Parse(data)).To(Equal(&listener.Table{Listeners: []listener.Listener{{Port: 20000, Page: &criticalv2.PageFallback{}}}}))
}

func TestFind(t *testing.T) {
	g := NewWithT(t)
	table := newTable(3)
	port, found := table.Find("shop-2", "http")
	g.Expect(found).To(BeTrue())
	g.Expect(port).To(Equal(listener.First + 2))
	_, found = table.Find("shop-2", "https")
	g.Expect(found).To(BeFalse())
}

func TestRange(t *testing.T) {
	tests := map[string]struct {
		text  string
		valid bool
	}{
		"a range":               {"20000-20063", true},
		"a single port":         {"20000-20000", true},
		"the wrong way round":   {"20063-20000", false},
		"one port":              {"20000", false},
		"something after it":    {"20000-20063x", false},
		"beyond the last port":  {"65000-65536", false},
		"before the first port": {"0-10", false},
		"nothing":               {"", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, err := listener.ParseRange(test.text)
			if !test.valid {
				g.Expect(err).To(HaveOccurred())
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.String()).To(Equal(test.text))
			g.Expect(r.Contains(r.First)).To(BeTrue())
			g.Expect(r.Contains(r.Last + 1)).To(BeFalse())
		})
	}
}
