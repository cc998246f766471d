//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/prober"
)

const (
	// thePage is who answers a visitor with the page of a WebApp.
	thePage = "page"
	// late is how long a visitor waits. It is long, because on a machine that is busy with all the scenarios an answer may
	// be late, and late is not lost.
	late = 20 * time.Second
	// fewVisitors is how many requests per second a scenario sends that does not scale by them.
	fewVisitors = 20
)

// visitors ask a WebApp at a fixed rate, and what became of each request is kept.
type visitors struct {
	*webApp
	stop    context.CancelFunc
	ended   chan error
	mutex   sync.Mutex
	results []prober.Result
}

// visited starts to ask for a page, so many times per second.
func (a *webApp) visited(path string, rate int) *visitors {
	a.t.Helper()
	return a.ask(prober.Prober{URL: a.url(path), Rate: rate})
}

// visitedFrom is the same of few visitors, who ask from some ports only: from others than those who have met Pods whose
// processes were killed.
func (a *webApp) visitedFrom(ports prober.Ports) *visitors {
	a.t.Helper()
	return a.ask(prober.Prober{URL: a.url("/"), Rate: fewVisitors, Control: ports.Bind})
}

func (a *webApp) ask(probe prober.Prober) *visitors {
	a.t.Helper()
	probe.Timeout, probe.Marks = late, map[string]string{pageSentence: thePage}
	ctx, cancel := context.WithCancel(a.ctx)
	v := &visitors{webApp: a, stop: cancel, ended: make(chan error, 1)}
	go func() {
		v.ended <- probe.Run(ctx, func(result prober.Result) {
			v.mutex.Lock()
			defer v.mutex.Unlock()
			v.results = append(v.results, result)
		})
	}()
	a.t.Cleanup(cancel)
	return v
}

// settled waits until the application answers all of them, and drops what was seen before: proxies may still lead to the page
// of the time when no Pod was ready.
func (v *visitors) settled() *visitors {
	v.t.Helper()
	v.see(false)
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.results = nil
	return v
}

// leave stops to ask, and is all that was seen.
func (v *visitors) leave() []prober.Result {
	v.t.Helper()
	v.stop()
	v.Expect(<-v.ended).To(Succeed())
	return v.results
}

// within are the requests that were sent from one moment until another, as far as their fate is known.
func (v *visitors) within(from, to time.Time) []prober.Result {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return between(v.results, from, to)
}

// latest is when the last request was sent whose fate is known; none is known before those sent earlier are.
func (v *visitors) latest() time.Time {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if len(v.results) == 0 {
		return time.Time{}
	}
	return v.results[len(v.results)-1].Sent
}

// see waits until all requests of a whole second, sent from now on, were answered by the page or by the application.
func (v *visitors) see(page bool) {
	v.t.Helper()
	v.Eventually(v.sawFor).WithArguments(time.Now(), page).Should(Succeed(), "requests of the last second to WebApp %s", v.object.Name)
}

// sawFor expects that of the last second, which must have begun after a moment.
func (v *visitors) sawFor(g Gomega, began time.Time, page bool) {
	latest := v.latest()
	g.Expect(latest).To(BeTemporally(">", began.Add(time.Second)))
	of := countAnswers(v.within(latest.Add(-time.Second), latest))
	g.Expect(of.requests).To(BeNumerically(">", 0))
	if page {
		g.Expect(of.page).To(Equal(of.requests), "answered by the page")
	} else {
		g.Expect(of.application).To(Equal(of.requests), "answered by the application")
	}
}

// answers are requests, by what answered them.
type answers struct {
	requests, application, page, none int
	// longest is the longest stretch in which requests were sent and not answered.
	longest time.Duration
	// why is what became of those that none answered: a fault, or a status.
	why map[string]int
}

// countAnswers counts requests in the order in which they were sent. An error of the application's own, or of what stands
// before it, is no answer of the application.
func countAnswers(results []prober.Result) answers {
	of := answers{requests: len(results), why: map[string]int{}}
	for _, result := range results {
		switch {
		case result.Answered() && result.By == thePage:
			of.page++
		case result.Answered() && result.Status < 500:
			of.application++
		default:
			of.none++
			of.why[cmp.Or(string(result.Fault), strconv.Itoa(result.Status))]++
		}
	}
	of.longest = prober.Summarise(prober.Segments(results)).LongestGap
	return of
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

// quantile is the latency that a share of the answered requests did not exceed.
func quantile(results []prober.Result, share float64) time.Duration {
	var latencies []time.Duration
	for _, result := range results {
		if result.Answered() {
			latencies = append(latencies, result.Latency)
		}
	}
	if len(latencies) == 0 {
		return 0
	}
	slices.Sort(latencies)
	return latencies[min(int(share*float64(len(latencies))), len(latencies)-1)]
}
