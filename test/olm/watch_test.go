//go:build e2e

package olm

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/prober"
)

// watchRate is how many requests per second a Service gets that is watched.
const watchRate = 50

// watch asks a Service at a fixed rate, and keeps what became of each request.
type watch struct {
	*service
	mutex   sync.Mutex
	results []prober.Result
	stop    context.CancelFunc
	ended   chan error
}

// watched starts to ask.
func (s *service) watched() *watch {
	ctx, cancel := context.WithCancel(s.ctx)
	o := &watch{service: s, stop: cancel, ended: make(chan error, 1)}
	go func() {
		o.ended <- s.prober(watchRate).Run(ctx, func(result prober.Result) {
			o.mutex.Lock()
			defer o.mutex.Unlock()
			o.results = append(o.results, result)
		})
	}()
	s.t.Cleanup(cancel)
	return o
}

// latest is when the last request was sent whose fate is known.
func (o *watch) latest() time.Time {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if len(o.results) == 0 {
		return time.Time{}
	}
	return o.results[len(o.results)-1].Sent
}

// answeredOnlyBy stops to ask, and wants every single request answered by who.
func (o *watch) answeredOnlyBy(who string) {
	o.t.Helper()
	now := time.Now()
	o.Eventually(o.latest).Should(BeTemporally(">", now), "requests to Service %s", o.object.Name)
	o.stop()
	o.Expect(<-o.ended).To(Succeed())
	summary := prober.Summarise(prober.Segments(o.results))
	o.t.Logf("%d requests to Service %s in %s:\n%s", summary.Requests, o.object.Name,
		o.latest().Sub(o.results[0].Sent).Round(time.Second), tell(prober.Segments(o.results)))
	o.Expect(summary.Faults).To(BeEmpty(), "requests to Service %s without an answer", o.object.Name)
	o.Expect(summary.Answered).To(And(HaveLen(1), HaveKey(who)), "who answered for Service %s", o.object.Name)
}

// tell tells segments in lines.
func tell(segments []prober.Segment) string {
	var text strings.Builder
	for _, segment := range segments {
		who := segment.Who
		if who == prober.NoAnswer {
			who = fmt.Sprintf("no answer %v", segment.Faults)
		}
		fmt.Fprintf(&text, "  from %s for %6.2f s: %s answered %d\n", segment.From.Format(time.TimeOnly),
			segment.Duration().Seconds(), who, segment.Requests)
	}
	return text.String()
}
