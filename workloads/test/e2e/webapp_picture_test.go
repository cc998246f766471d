//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/document"
	"github.com/critical-service/operator/test/observability/picture"
	"github.com/critical-service/operator/test/prober"
)

const (
	// webAppPage is the page with what is measured of WebApps, and trafficPicture its picture.
	webAppPage     = "../../../docs/webapp.md"
	trafficPicture = "../../../docs/images/webapp-traffic.svg"

	// sampled is how often the number of Pods is read.
	sampled = time.Second
	// bucket is over how long the requests of one point of the picture are counted.
	bucket = 5 * time.Second
	// half and most are the shares of requests that are no slower than p50 and p99.
	half, most = 0.5, 0.99
)

// recording is what happens to a WebApp over time.
type recording struct {
	*webApp
	began time.Time
	// zero is second 0 of the picture: the load begins. All Pods for it are ready at grown, and gone again at shrunk.
	zero, grown, shrunk time.Time
	ended               time.Time
	stages              []stage
	cancel              context.CancelFunc
	done                chan struct{}

	mutex sync.Mutex
	sizes []size
}

// stage is how many requests per second were sent from a moment on.
type stage struct {
	*visitors
	from time.Time
	rate int
}

// size is how many Pods there were to be at a moment, and how many were ready.
type size struct {
	at            time.Time
	wanted, ready int32
}

// record begins to look at the number of Pods, once a second.
func (a *webApp) record() *recording {
	ctx, cancel := context.WithCancel(a.ctx)
	r := &recording{webApp: a, began: time.Now(), cancel: cancel, done: make(chan struct{})}
	a.t.Cleanup(cancel)
	go func() {
		defer close(r.done)
		ticker := time.NewTicker(sampled)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case at := <-ticker.C:
				r.look(ctx, at)
			}
		}
	}()
	return r
}

// look reads the number of Pods. One that cannot be read leaves a longer line in the picture.
func (r *recording) look(ctx context.Context, at time.Time) {
	deployment := r.deployment()
	if err := r.Get(ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil || deployment.Spec.Replicas == nil {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.sizes = append(r.sizes, size{at, *deployment.Spec.Replicas, deployment.Status.ReadyReplicas})
}

// follow keeps what becomes of the requests of visitors who have just begun.
func (r *recording) follow(v *visitors, rate int) {
	r.stages = append(r.stages, stage{v, time.Now(), rate})
}

// end ends it, once all visitors have left.
func (r *recording) end() {
	r.ended = time.Now()
	r.cancel()
	<-r.done
}

// results are those of all requests, in their order.
func (r *recording) results() []prober.Result {
	var all []prober.Result
	for _, stage := range r.stages {
		all = append(all, stage.results...)
	}
	return all
}

// drawn draws what was measured; with -update it becomes the picture of the documents.
func (r *recording) drawn() {
	r.t.Helper()
	last := r.ended
	fifty, ninetyNine := r.latencies(half, last), r.latencies(most, last)
	wanted, ready := picture.Curve{Name: "wanted", Colour: picture.Plain, Steps: true}, picture.Curve{Name: "ready", Colour: picture.OK, Steps: true}
	for _, size := range r.sizes {
		wanted.Points = append(wanted.Points, picture.Point{r.second(size.at), float64(size.wanted)})
		ready.Points = append(ready.Points, picture.Point{r.second(size.at), float64(size.ready)})
	}
	measured := picture.Picture{
		Title: "A WebApp follows its traffic, as measured",
		Description: "Over time in seconds: the requests per second rise to three times the threshold of one Pod; the Pods become three, and " +
			"five minutes after the load has gone one again; the latency at the median and at 99 %; no request is lost.",
		Command: "make e2e-workloads TEST_ARGS='-run TestTrafficScalesAWebApp -args -update'",
		Start:   r.second(r.began), End: r.second(last),
		Lanes: []picture.Lane{
			{Label: "requests per second", Curves: []picture.Curve{r.sent(last)}},
			{Label: "Pods", Curves: []picture.Curve{wanted, ready}},
			{Label: "latency in ms", Curves: []picture.Curve{
				{Name: "p50", Colour: picture.OK, Points: fifty}, {Name: "p99", Colour: picture.Warn, Points: ninetyNine},
			}},
			{Label: "requests lost", Curves: []picture.Curve{{Name: "in 5 s", Colour: picture.Bad, Points: r.lost(last)}}},
		},
	}
	drawn, err := measured.SVG()
	r.Expect(err).NotTo(HaveOccurred())
	text := fmt.Sprintf("![%s](images/webapp-traffic.svg)\n\n%s", measured.Title, r.figures())
	r.t.Log(text)
	if *update {
		r.Expect(os.WriteFile(trafficPicture, []byte(drawn), 0o600)).To(Succeed())
		r.Expect(document.Publish(webAppPage, "traffic", text)).To(Succeed())
	}
}

// figures are what the picture shows, in a table.
func (r *recording) figures() string {
	text := &strings.Builder{}
	fmt.Fprintf(text, "`trafficThreshold: %d`, one node, each request on a new connection.\n\n", measuredThreshold)
	fmt.Fprint(text, "| Requests per second | For | p50 | p99 | Requests | Lost |\n|---|---|---|---|---|---|\n")
	for n, stage := range r.stages {
		to := r.stages[min(n+1, len(r.stages)-1)].from
		if n == len(r.stages)-1 {
			to = r.ended
		}
		of := countAnswers(stage.results)
		fmt.Fprintf(text, "| %d | %.0f s | %.1f ms | %.1f ms | %d | %d |\n", stage.rate, to.Sub(stage.from).Seconds(),
			milliseconds(quantile(stage.results, half)), milliseconds(quantile(stage.results, most)), of.requests, of.requests-of.application)
	}
	fmt.Fprintf(text, "\nThree Pods were ready %.0f s after the load began, and one was left %.0f s after it ended.", r.grown.Sub(r.zero).Seconds(), r.shrunk.Sub(r.stages[len(r.stages)-1].from).Seconds())
	return text.String()
}

func milliseconds(of time.Duration) float64 { return float64(of.Microseconds()) / 1000 }

// second is when a moment is in the picture.
func (r *recording) second(at time.Time) float64 { return at.Sub(r.zero).Seconds() }

// sent is what was asked of the WebApp.
func (r *recording) sent(last time.Time) picture.Curve {
	curve := picture.Curve{Name: "sent", Colour: picture.Plain, Steps: true}
	for _, stage := range r.stages {
		curve.Points = append(curve.Points, picture.Point{r.second(stage.from), float64(stage.rate)})
	}
	curve.Points = append(curve.Points, picture.Point{r.second(last), float64(r.stages[len(r.stages)-1].rate)})
	return curve
}

// latencies are what a share of the requests did not exceed, over time.
func (r *recording) latencies(share float64, last time.Time) []picture.Point {
	return r.over(last, func(results []prober.Result) float64 {
		return milliseconds(quantile(results, share))
	})
}

func (r *recording) lost(last time.Time) []picture.Point {
	return r.over(last, func(results []prober.Result) float64 {
		return float64(len(results) - countAnswers(results).application)
	})
}

// over is a figure of the requests of each bucket of time.
func (r *recording) over(last time.Time, figure func([]prober.Result) float64) []picture.Point {
	var points []picture.Point
	all := r.results()
	for from := r.stages[0].from; from.Before(last); from = from.Add(bucket) {
		if results := between(all, from, from.Add(bucket)); len(results) > 0 {
			points = append(points, picture.Point{r.second(from.Add(bucket / 2)), figure(results)})
		}
	}
	return points
}
