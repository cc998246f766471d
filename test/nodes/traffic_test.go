//go:build e2e

package nodes

import (
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/critical-service/operator/test/prober"
)

const (
	// rate is how many clients ask a Service every second.
	rate = 20
	// patience is how long one of them waits for an answer: longer than Linux waits, 1 s, until it sends a lost SYN again.
	patience = 3 * time.Second
)

// traffic is what clients of a Service got. They are on the machine, and open a connection each.
type traffic struct {
	mutex   sync.Mutex
	results []prober.Result
	stop    func()
}

// ports are a range of source ports. Linux sends a connection where the last one from the same port went, if that got no answer,
// for two minutes: a client that asked a Pod that was lost may miss the next one for as long.
type ports struct{ first, last uint16 }

var (
	lowPorts = ports{32768, 46999}
	// highPorts are for clients that have never asked a Pod that was lost.
	highPorts = ports{47000, 60999}
)

// bind lets a socket take one of the ports (IP_LOCAL_PORT_RANGE of ip(7)).
func (p ports) bind(_, _ string, socket syscall.RawConn) (err error) {
	if unusable := socket.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_LOCAL_PORT_RANGE, int(p.last)<<16|int(p.first))
	}); unusable != nil {
		return unusable
	}
	return err
}

// ask lets clients ask a Service by its cluster IP, from some ports, until the scenario ends.
func (w *world) ask(service *corev1.Service, from ports) *traffic {
	w.t.Helper()
	probe := prober.Prober{
		URL: "http://" + net.JoinHostPort(service.Spec.ClusterIP, "80") + "/", Rate: rate, Timeout: patience,
		Marks: map[string]string{sentence: thePage}, Control: from.bind,
	}
	w.Expect(probe.Validate()).To(Succeed())
	ctx, cancel := context.WithCancel(w.ctx)
	tr := &traffic{}
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

// answeredBy waits until all requests of two seconds are answered, by one name only.
func (w *world) answeredBy(tr *traffic, who string) {
	w.t.Helper()
	w.Eventually(func() error {
		results := tr.since(time.Now().Add(-patience - 2*time.Second))
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
