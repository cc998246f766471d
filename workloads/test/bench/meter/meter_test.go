package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// witness notes which server each request came to.
type witness struct {
	mu    sync.Mutex
	asked []string
}

func (w *witness) serve(t *testing.T, name string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.asked = append(w.asked, name)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func (w *witness) count(name string) (n int) {
	for _, asked := range w.asked {
		if asked == name {
			n++
		}
	}
	return n
}

func TestBothWaysAreMeasuredInTurns(t *testing.T) {
	g := NewWithT(t)
	w := &witness{}
	b := &bench{
		options: options{rounds: 3, steady: 200 * time.Millisecond, most: 200 * time.Millisecond, rate: 100, connections: 2},
		ways:    [2]way{{title: "a", url: w.serve(t, "a")}, {title: "b", url: w.serve(t, "b")}},
	}
	var cpu usage
	b.used = func() (usage, error) {
		cpu.application += time.Second
		cpu.meter += 2 * time.Second
		return cpu, nil
	}
	g.Expect(b.measure(t.Context())).To(Succeed())
	for _, way := range b.ways {
		g.Expect(way.requests()).To(Equal(w.count(way.title)), "every request is counted")
		g.Expect(way.latencies).To(HaveLen(3))
		g.Expect(slices.Concat(way.latencies...)).To(HaveLen(way.steady.requests))
		for _, c := range []cost{way.steady, way.most} {
			g.Expect(c.usage).To(Equal(usage{application: 3 * time.Second, meter: 6 * time.Second}), "in three rounds")
		}
	}
	g.Expect(slices.Compact(w.asked)).To(Equal([]string{"a", "b", "a", "b"}), "who comes first changes each round")
}

func TestARequestThatFailsEndsTheRun(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for name, send := range map[string]func(context.Context, string) (int, error){
		"at the steady rate": func(ctx context.Context, url string) (int, error) {
			latencies, err := steadily(ctx, url, 100)
			return len(latencies), err
		},
		"as fast as possible": func(ctx context.Context, url string) (int, error) { return flood(ctx, url, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			_, err := send(ctx, server.URL)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring("404")))
		})
	}
}

func TestTheMeterMustHaveCountedWhatWasSent(t *testing.T) {
	for name, test := range map[string]struct {
		scrape, problem string
	}{
		"all of it":                    {scrape: "# TYPE webapp_meter_requests_total counter\nwebapp_meter_requests_total 7\n"},
		"less, as another one answers": {scrape: "# TYPE webapp_meter_requests_total counter\nwebapp_meter_requests_total 6\n", problem: "counted 6 requests, and 7 were sent"},
		"what is no meter":             {scrape: "up 1\n", problem: "counted 0 requests"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			err := compare([]byte(test.scrape), 7)
			if test.problem == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(test.problem)))
		})
	}
}

func TestTheTableHasBothWaysAndTheDifference(t *testing.T) {
	g := NewWithT(t)
	b := &bench{options: options{rounds: 2, rate: 200, connections: 8}, ways: [2]way{
		{
			latencies: [][]time.Duration{{time.Millisecond, 2004 * time.Microsecond, 3 * time.Millisecond}},
			steady:    cost{requests: 100, usage: usage{application: 10 * time.Millisecond}},
			most:      cost{requests: 4000, usage: usage{application: 400 * time.Millisecond}},
		},
		{
			latencies: [][]time.Duration{
				{2 * time.Millisecond, 3496 * time.Microsecond, 9 * time.Millisecond},
				{70 * time.Millisecond, 80 * time.Millisecond, 90 * time.Millisecond},
				{time.Millisecond, 2 * time.Millisecond, 8 * time.Millisecond},
			},
			steady: cost{requests: 99, usage: usage{application: 9 * time.Millisecond, meter: 45 * time.Millisecond}},
			most:   cost{requests: 1000, usage: usage{application: 100 * time.Millisecond, meter: 400 * time.Millisecond}},
		},
	}}
	text := b.markdown("1.25", 20<<20)
	for _, line := range []string{
		"with a load average of 1.25 before the run; 2 rounds in turns; latencies are the median of the rounds.",
		"100 and 99 at 200/s, 4000 and 1000 as fast as 8 connections can.",
		"| latency at 200/s, p50 | 2.00 ms | 3.50 ms | 1.50 ms |",
		"| latency at 200/s, p99 | 3.00 ms | 9.00 ms | 6.00 ms |",
		"| CPU of a request at 200/s | 0.10 ms | 0.55 ms | 0.45 ms |",
		"| CPU of a request, as fast as possible | 0.10 ms | 0.50 ms | 0.40 ms |",
		"| requests/s per core, as fast as possible | 10000 | 2000 | -8000 |",
		"| requests/s per core, of the meter alone | | 2500 | |",
		"| resident memory of the meter (peak) | | 20 MiB | |",
	} {
		g.Expect(text).To(ContainSubstring(line))
	}
	g.Expect(cost{}.each()).To(BeZero(), "of no request")
}
