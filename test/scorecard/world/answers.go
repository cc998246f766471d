package world

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/critical-service/operator/test/scorecard/application"
)

// Who answers a request.
const (
	ByApplication = "the application"
	ByFallback    = "the fallback"
	ByNoOne       = "no one"
	ByOther       = "another server"
)

const (
	// askEach is how often a watched Service is asked.
	askEach = 100 * time.Millisecond
	// askFor is how long an answer may take.
	askFor = 3 * time.Second
)

// Answer is what came of one request through the address of a Service.
type Answer struct {
	// By is who answered.
	By string
	// Detail says what the answer was like.
	Detail string
}

// notAsked is in the place of an answer while there is none.
var notAsked = Answer{By: "no answer yet"}

func (a Answer) String() string {
	if a == notAsked {
		return a.By
	}
	return fmt.Sprintf("%s answers (%s)", a.By, a.Detail)
}

// Message is what the test's CriticalServices say, so that their page is known from all others.
func (w *World) Message() string { return "Scorecard test " + w.Namespace + " goes on in a minute." }

// Ask sends one request to the cluster's address of a Service, over a connection of its own.
func (w *World) Ask(ctx context.Context, app *Application) Answer {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	address := net.JoinHostPort(app.Service.Spec.ClusterIP, strconv.Itoa(int(app.Service.Spec.Ports[0].Port)))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, (&url.URL{Scheme: "http", Host: address, Path: "/"}).String(), http.NoBody)
	if err != nil {
		return Answer{By: ByNoOne, Detail: err.Error()}
	}
	request.Header.Set("Accept", "text/plain")
	response, err := w.Transport.RoundTrip(request)
	if err != nil {
		return Answer{By: ByNoOne, Detail: err.Error()}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		return Answer{By: ByNoOne, Detail: err.Error()}
	}
	answer := Answer{By: ByOther, Detail: "HTTP " + response.Status}
	switch {
	case response.Header.Get(application.Header) == app.Deployment.Name && response.StatusCode == http.StatusOK:
		answer.By = ByApplication
	case response.StatusCode == http.StatusServiceUnavailable && strings.Contains(string(body), w.Message()):
		answer.By = ByFallback
		answer.Detail += ", Retry-After: " + response.Header.Get("Retry-After")
	default:
		answer.Detail += fmt.Sprintf(", %.120q", body)
	}
	return answer
}

// Watch is a Service that is asked again and again.
type Watch struct {
	stop context.CancelFunc
	done chan struct{}

	mu     sync.Mutex
	spells []spell
	asked  int
	lost   int
}

// spell is a time in which the answers were all alike.
type spell struct {
	Answer
	from, to time.Time
	count    int
}

// Watch begins to ask a Service, until Stop.
func (w *World) Watch(ctx context.Context, app *Application) *Watch {
	ctx, stop := context.WithCancel(ctx)
	watch := &Watch{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(watch.done)
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			from := time.Now()
			answer := w.Ask(ctx, app)
			// A request that the end of the watch cut short was not lost.
			if ctx.Err() == nil {
				watch.add(answer, from)
			}
		}, askEach)
	}()
	return watch
}

func (o *Watch) add(answer Answer, from time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked++
	if answer.By == ByNoOne {
		o.lost++
	}
	if last := len(o.spells) - 1; last >= 0 && o.spells[last].Answer == answer {
		o.spells[last].to = time.Now()
		o.spells[last].count++
		return
	}
	o.spells = append(o.spells, spell{Answer: answer, from: from, to: time.Now(), count: 1})
}

// Now is the latest answer, and how many in a row were by the same.
func (o *Watch) Now() (answer Answer, inARow int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.spells) == 0 {
		return notAsked, 0
	}
	answer = o.spells[len(o.spells)-1].Answer
	for i := len(o.spells) - 1; i >= 0 && o.spells[i].By == answer.By; i-- {
		inARow += o.spells[i].count
	}
	return answer, inARow
}

// Reset forgets how many answers in a row there were, so that those to come are counted.
func (o *Watch) Reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if last := len(o.spells) - 1; last >= 0 {
		o.spells = append(o.spells, spell{Answer: notAsked, from: o.spells[last].to, to: o.spells[last].to})
	}
}

// Stop ends the watch.
func (o *Watch) Stop() {
	o.stop()
	<-o.done
}

// String is the story of the answers, a line for each spell.
func (o *Watch) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var text strings.Builder
	fmt.Fprintf(&text, "%d requests, %d of them lost\n", o.asked, o.lost)
	for _, s := range o.spells {
		if s.count > 0 {
			fmt.Fprintf(&text, "%s to %s: %d times %s\n",
				s.from.UTC().Format("15:04:05.000"), s.to.UTC().Format("15:04:05.000"), s.count, s.Answer)
		}
	}
	return text.String()
}

// AwaitAnswers waits until a watched Service is answered by one server, many times in a row.
func (w *World) AwaitAnswers(ctx context.Context, watch *Watch, by, suggestion string) error {
	const many = 20
	watch.Reset()
	return w.Await(ctx, fmt.Sprintf("a row of %d requests that %s answered", many, by), func(context.Context) (Observation, error) {
		answer, inARow := watch.Now()
		return Observation{Done: answer.By == by && inARow >= many, Text: answer.String(), Suggestion: suggestion}, nil
	})
}
