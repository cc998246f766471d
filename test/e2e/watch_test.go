//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/prober"
)

// The answer of a page does not say who sent it: it is known by the sentence that it shows.
const (
	// thePage is who answers with the page of a scenario, and pageSentence its sentence.
	thePage      = "page"
	pageSentence = "Closed for a moment, as this scenario wants it."
	// theBuiltInPage is who answers with the page that no one has said anything about.
	theBuiltInPage  = "built-in page"
	builtInSentence = "This service is not available at the moment."

	// theContent is who answers with a team's own content, and contentSentence what it says.
	theContent      = "content"
	contentSentence = "The team says when it is back."

	// manyRequests is the rate, per second, at which outages are watched.
	manyRequests = 100
	// patience is how long a watched request may take. It is long, because on a machine that is busy
	// with all the scenarios an answer may be late, and late is not lost.
	patience = 5 * time.Second
)

var pageMarks = labels{pageSentence: thePage, builtInSentence: theBuiltInPage, contentSentence: theContent}

var oneConnectionEach = &http.Client{
	Timeout:   patience,
	Transport: &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{}).DialContext},
}

// ask makes one real request and says who answered, or why no one did.
func ask(url string) string {
	response, err := oneConnectionEach.Get(url)
	if err != nil {
		return fmt.Sprintf("no one: %s", prober.Classify(err))
	}
	defer func() { _ = response.Body.Close() }()
	if who := response.Header.Get(prober.AnsweredByHeader); who != "" {
		return who
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Sprintf("no one: %s", prober.Classify(err))
	}
	for mark, who := range pageMarks {
		if strings.Contains(string(body), mark) {
			return who
		}
	}
	return fmt.Sprintf("a stranger: status %d", response.StatusCode)
}

// watch asks a URL at a fixed rate, and keeps what became of each request.
type watch struct {
	*world
	what    string
	mutex   sync.Mutex
	results []prober.Result
	stop    context.CancelFunc
	ended   chan error
	// vanishing: the addresses of the Pods that were asked vanish without a word. For two minutes the
	// kernel's connection tracking remembers who reached for them in vain, and sends there a client that gets
	// the same source port later. With so many requests from one client a few are lost in this way,
	// whatever stands in by then.
	vanishing bool
}

// lost says whether a request was lost for the reason that vanishing explains.
func (o *watch) lost(result prober.Result) bool {
	return o.vanishing && (result.Fault == prober.Unreachable || result.Fault == prober.Timeout)
}

// watch starts to ask.
func (w *world) watch(what, url string, rate int) *watch {
	ctx, cancel := context.WithCancel(w.ctx)
	o := &watch{world: w, what: what, stop: cancel, ended: make(chan error, 1)}
	probe := prober.Prober{URL: url, Rate: rate, Timeout: patience, Marks: pageMarks}
	go func() {
		o.ended <- probe.Run(ctx, func(result prober.Result) {
			o.mutex.Lock()
			defer o.mutex.Unlock()
			o.results = append(o.results, result)
		})
	}()
	w.t.Cleanup(cancel)
	return o
}

// end stops to ask, tells who answered when, and returns all that was seen.
func (o *watch) end() []prober.Result {
	o.t.Helper()
	o.stop()
	o.Expect(<-o.ended).To(Succeed())
	o.t.Logf("who answered for %s:\n%s", o.what, story(prober.Segments(o.results)))
	return o.results
}

// latest is when the last request was sent whose fate is known; none is known before those sent earlier are.
func (o *watch) latest() time.Time {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if len(o.results) == 0 {
		return time.Time{}
	}
	return o.results[len(o.results)-1].Sent
}

// seen counts, by who answered, the requests sent from one moment until another, without those that
// were lost. They must be few.
func (o *watch) seen(from, to time.Time) map[string]int {
	o.mutex.Lock()
	results := between(o.results, from, to)
	o.mutex.Unlock()
	all := len(results)
	results = slices.DeleteFunc(results, o.lost)
	if few := all/50 + 1; all-len(results) > few {
		return map[string]int{"no one, too often": all - len(results)}
	}
	return tally(results)
}

// answers waits until all requests of a whole second were answered by who. kube-proxy waits a second
// between two changes of its rules: after such a second it has caught up with the API.
func (o *watch) answers(who string) {
	o.t.Helper()
	began := time.Now()
	o.Eventually(func(g Gomega) {
		latest := o.latest()
		g.Expect(latest).To(BeTemporally(">", began.Add(time.Second)))
		g.Expect(o.seen(latest.Add(-time.Second), latest)).To(And(HaveLen(1), HaveKey(who)))
	}).Should(Succeed(), "requests to %s of the last second", o.what)
}

// keeps looks on for a while, and wants every request answered by who.
func (o *watch) keeps(who string, while time.Duration) {
	o.t.Helper()
	began := time.Now()
	o.kept(who, began, began.Add(while))
}

// kept waits until all is known of a stretch of time, and wants every request answered by who.
func (o *watch) kept(who string, from, to time.Time) {
	o.t.Helper()
	o.Eventually(o.latest).Should(BeTemporally(">", to))
	o.Expect(o.seen(from, to)).To(And(HaveLen(1), HaveKey(who)), "requests to %s in %s", o.what, to.Sub(from))
}

// between are the results of requests sent from one moment until another.
func between(results []prober.Result, from, to time.Time) []prober.Result {
	var within []prober.Result
	for _, result := range results {
		if !result.Sent.Before(from) && result.Sent.Before(to) {
			within = append(within, result)
		}
	}
	return within
}

// tally counts requests by who answered them; those that no one answered by their fault.
func tally(results []prober.Result) map[string]int {
	counts := map[string]int{}
	for _, result := range results {
		who := result.By
		if !result.Answered() {
			who = "no one: " + string(result.Fault)
		}
		counts[who]++
	}
	return counts
}

// unanswered are the requests that no one answered.
func unanswered(results []prober.Result) []prober.Result {
	var failed []prober.Result
	for _, result := range results {
		if !result.Answered() {
			failed = append(failed, result)
		}
	}
	return failed
}

// probe starts to ask the Service at a moderate rate; stop says who answered when.
func (s *service) probe() (stop func() []prober.Segment) {
	o := s.watch("Service "+s.object.Name, s.url(), 50)
	return func() []prober.Segment {
		s.t.Helper()
		return prober.Segments(o.end())
	}
}

// watched starts to ask the Service at the rate at which outages are watched, once it is
// answered: the proxy of the node follows a new Service within a second.
func (s *service) watched() *watch {
	s.t.Helper()
	s.Eventually(func() string { return ask(s.url()) }).ShouldNot(HavePrefix("no one"), "requests to Service %s", s.object.Name)
	return s.watch("Service "+s.namespace+"/"+s.object.Name, s.url(), manyRequests)
}

// story tells segments in lines.
func story(segments []prober.Segment) string {
	if len(segments) == 0 {
		return "  no request"
	}
	var text strings.Builder
	start := segments[0].From
	for _, phase := range prober.Phases(segments, 100*time.Millisecond) {
		var parts []string
		for _, who := range phase.Who() {
			name := who
			if who == prober.NoAnswer {
				name = fmt.Sprintf("no one %v", phase.Faults)
			}
			parts = append(parts, fmt.Sprintf("%s %d", name, phase.Requests[who]))
		}
		fmt.Fprintf(&text, "  %7.2f s to %7.2f s  %s\n", phase.From.Sub(start).Seconds(), phase.To.Sub(start).Seconds(), strings.Join(parts, ", "))
	}
	sum := prober.Summarise(segments)
	fmt.Fprintf(&text, "  without an answer: %.2f s, the longest gap %.2f s", sum.Unanswered.Seconds(), sum.LongestGap.Seconds())
	return text.String()
}
