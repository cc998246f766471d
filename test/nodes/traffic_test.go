//go:build e2e

package nodes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/critical-service/operator/test/prober"
)

const (
	// rate is how many clients ask a Service every second.
	rate = 20
	// patience is how long one of them waits for an answer: longer than Linux waits, 1 s, until it sends a lost SYN again.
	patience = 3 * time.Second
	// followed is how many requests may fail until kube-proxy has followed a change of endpoints: those of two seconds.
	followed = 2 * rate
)

// traffic is what clients of a Service got. They are on the machine, and open a connection each.
type traffic struct {
	// began is a moment before all requests.
	began   time.Time
	mutex   sync.Mutex
	results []prober.Result
	stop    func()
}

// ask lets clients ask a Service by its cluster IP, from some ports, until the scenario ends.
func (w *world) ask(service *corev1.Service, from prober.Ports) *traffic {
	w.t.Helper()
	probe := prober.Prober{
		URL: "http://" + net.JoinHostPort(service.Spec.ClusterIP, "80") + "/", Rate: rate, Timeout: patience,
		Marks: map[string]string{sentence: thePage}, Control: from.Bind,
	}
	w.Expect(probe.Validate()).To(Succeed())
	ctx, cancel := context.WithCancel(w.ctx)
	tr := &traffic{began: time.Now()}
	var clients sync.WaitGroup
	clients.Go(func() {
		_ = probe.Run(ctx, func(result prober.Result) {
			tr.mutex.Lock()
			defer tr.mutex.Unlock()
			tr.results = append(tr.results, result)
		})
	})
	tr.stop = func() {
		cancel()
		clients.Wait()
	}
	w.t.Cleanup(tr.stop)
	return tr
}

// since are the requests that were sent after a moment, and that have ended.
func (tr *traffic) since(moment time.Time) []prober.Result {
	tr.mutex.Lock()
	defer tr.mutex.Unlock()
	var found []prober.Result
	for _, result := range tr.results {
		if result.Sent.After(moment) {
			found = append(found, result)
		}
	}
	return found
}

// answeredBy waits until all requests of two seconds are answered, by one name only, and returns since when they are.
func (w *world) answeredBy(tr *traffic, who string) (since time.Time) {
	w.t.Helper()
	w.Eventually(func() error {
		since = time.Now().Add(-patience - 2*time.Second)
		results := tr.since(since)
		if since.Before(tr.began) {
			return errors.New("they have asked for too short a time to know which requests fail")
		}
		if len(results) < rate {
			return fmt.Errorf("there are %d requests only", len(results))
		}
		for _, result := range results {
			if result.By != who {
				return fmt.Errorf("%s answered, and is %q: %s", who, result.By, result.Fault)
			}
		}
		return nil
	}).Should(Succeed())
	return since
}

// takenOver waits until the page answers new clients, and returns since when it does. By default, kube-proxy follows changes of
// endpoints once a second, so that a few requests may still be sent to what is lost.
func (w *world) takenOver(tr *traffic) (since time.Time) {
	w.t.Helper()
	since = w.answeredBy(tr, thePage)
	w.t.Logf("until the page answers new clients: %s", missed(tr, tr.began))
	w.Expect(len(tr.unanswered(tr.began))).To(BeNumerically("<=", followed), "requests of new clients until the page answers them")
	return since
}

// missed is what clients missed from a moment on, in words.
func missed(tr *traffic, since time.Time) string {
	loss := prober.Lost(tr.since(since), since, time.Now(), "")
	return fmt.Sprintf("%d of %d requests without an answer, the longest time %s", loss.Failed, loss.Requests, loss.Longest.Round(time.Millisecond))
}

// unanswered are the faults of requests that were sent after a moment.
func (tr *traffic) unanswered(since time.Time) []prober.Result {
	var faults []prober.Result
	for _, result := range tr.since(since) {
		if !result.Answered() {
			faults = append(faults, result)
		}
	}
	return faults
}
