package command

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/internal/contract/appprotocol"
	"github.com/critical-service/operator/test/ports"
)

func run(t *testing.T, options Options) []Observation {
	t.Helper()
	g := NewWithT(t)
	var out bytes.Buffer
	g.Expect(Run(t.Context(), options, &out)).To(Succeed())
	var seen []Observation
	for line := range strings.Lines(out.String()) {
		var one Observation
		g.Expect(json.Unmarshal([]byte(line), &one)).To(Succeed(), line)
		seen = append(seen, one)
	}
	return seen
}

// page is a server that answers with a page, and the address of it.
func page(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		title := "Called by an address"
		if r.Host == "shop.example.svc" {
			title = "\n Back\x07 soon"
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("<html><head><title>" + title + "</title></head></html>"))
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func TestWhatIsSeenOfAPage(t *testing.T) {
	g := NewWithT(t)
	seen := run(t, Options{Targets: []string{page(t) + "/http"}, Host: "shop.example.svc", Tries: 3})
	g.Expect(seen).To(HaveLen(3))
	for _, one := range seen {
		g.Expect(one.Answered).To(BeTrue())
		g.Expect(one.Status).To(Equal("503"))
		g.Expect(one.Line).To(Equal("HTTP/1.1 503 Service Unavailable"))
		g.Expect(one.Title).To(Equal("Back soon"))
		g.Expect(one.Bytes).To(BeNumerically(">", 60))
		g.Expect(one.Sent).NotTo(BeZero())
	}
}

func TestEachTargetIsAskedAndASilentOneDoesNotKeepTheOthers(t *testing.T) {
	g := NewWithT(t)
	closed, good := ports.Free(t), page(t)

	seen := run(t, Options{Targets: []string{closed + "/postgresql", good + "/http"}, Tries: 2, Every: time.Millisecond})
	answers := map[string][]bool{}
	for _, one := range seen {
		answers[one.Target] = append(answers[one.Target], one.Answered)
		if one.Answered {
			g.Expect(one.Problem).To(BeEmpty())
		} else {
			g.Expect(one.Problem).NotTo(BeEmpty())
		}
	}
	g.Expect(answers).To(Equal(map[string][]bool{closed + "/postgresql": {false, false}, good + "/http": {true, true}}))
}

func TestAskingEndsWithItsContextOrItsTime(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	lines := &bytes.Buffer{}
	first := writer(func(line []byte) (int, error) {
		cancel()
		return lines.Write(line)
	})
	g.Expect(Run(ctx, Options{Targets: []string{page(t) + "/http"}, Every: time.Millisecond, For: time.Hour}, first)).To(Succeed())
	g.Expect(lines.String()).To(ContainSubstring(`"answered":true`))

	seen := run(t, Options{Targets: []string{page(t) + "/http"}, Every: 50 * time.Millisecond, For: time.Second})
	g.Expect(seen).NotTo(BeEmpty())
}

type writer func([]byte) (int, error)

func (w writer) Write(line []byte) (int, error) { return w(line) }

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	for sentence, test := range map[string]struct {
		options Options
		want    string
	}{
		"nothing to ask":              {Options{Tries: 1}, "nothing to ask"},
		"a target without a protocol": {Options{Tries: 1, Targets: []string{"10.0.0.1:80"}}, "is not ADDRESS:PORT/PROTOCOL"},
		"a protocol that is not one":  {Options{Tries: 1, Targets: []string{"10.0.0.1:80/gopher"}}, "is not ADDRESS:PORT/PROTOCOL"},
		"a target without a port":     {Options{Tries: 1, Targets: []string{"10.0.0.1/http"}}, "is not ADDRESS:PORT/PROTOCOL"},
		"an end that never comes":     {Options{Targets: []string{"10.0.0.1:80/http"}}, "without end"},
		"a time before now":           {Options{Tries: 1, For: -1, Targets: []string{"10.0.0.1:80/http"}}, "negative"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			var out bytes.Buffer
			g.Expect(Run(t.Context(), test.options, &out)).To(MatchError(ContainSubstring(test.want)))
			g.Expect(out.String()).To(BeEmpty())
		})
	}
}

func TestTheCommandTakesItsFlags(t *testing.T) {
	g := NewWithT(t)
	cmd := Command()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--" + FlagTarget, page(t) + "/http", "--" + FlagTries, "2", "--" + FlagHost, "shop"})
	g.Expect(cmd.ExecuteContext(t.Context())).To(Succeed())
	g.Expect(strings.Count(out.String(), "\n")).To(Equal(2))
	g.Expect(cmd.Flag(FlagTarget).Usage).To(ContainSubstring(string(appprotocol.PostgreSQL)))
}
