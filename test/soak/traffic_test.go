//go:build e2e

package soak

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/prober"
	"github.com/critical-service/operator/test/soak/fault"
	"github.com/critical-service/operator/test/soak/invariant"
)

const (
	// rate is how many clients ask each Service every second.
	rate = 100
	// patience is how long one of them waits for an answer; the invariants know it.
	patience = 2 * time.Second
)

// traffic is what clients got, and the faults that explain what they did not get.
type traffic struct {
	mutex    sync.Mutex
	history  fault.History
	answers  map[string]*invariant.Answers
	requests int
	failed   map[fault.Kind]int
	// unexplained are the requests that failed without a fault, by second, Service and what went wrong.
	unexplained map[string]int
	// noticed are those that failed since they were noted last, by Service, what went wrong and what explains it.
	noticed map[string]int
}

// startTraffic lets clients ask each Service by its cluster IP until the run ends, once it has been answered.
func (w *world) startTraffic() *traffic {
	w.t.Helper()
	tr := &traffic{answers: map[string]*invariant.Answers{}, failed: map[fault.Kind]int{}, unexplained: map[string]int{}, noticed: map[string]int{}}
	probes := map[string]prober.Prober{}
	for _, name := range serviceNames() {
		var service corev1.Service
		w.Expect(w.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, &service)).To(Succeed())
		probe := prober.Prober{URL: "http://" + net.JoinHostPort(service.Spec.ClusterIP, "80") + "/", Rate: rate, Timeout: patience, Control: prober.Fresh()}
		w.Expect(probe.Validate()).To(Succeed())
		w.Eventually(func() error { return ask(w.ctx, probe.URL) }).Should(Succeed(), "requests to Service %s", name)
		probes[name], tr.answers[name] = probe, invariant.AnsweredAt(time.Now())
	}
	ctx, stop := context.WithCancel(w.ctx)
	var clients sync.WaitGroup
	w.t.Cleanup(func() {
		stop()
		clients.Wait()
	})
	for name, probe := range probes {
		clients.Go(func() { _ = probe.Run(ctx, func(result prober.Result) { tr.add(name, result) }) })
	}
	return tr
}

var oneConnectionEach = &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}

// ask makes one request.
func ask(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := oneConnectionEach.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func (tr *traffic) add(service string, result prober.Result) {
	tr.mutex.Lock()
	defer tr.mutex.Unlock()
	tr.requests++
	tr.answers[service].Add(result.Sent, result.Answered())
	if result.Answered() {
		return
	}
	kind := tr.history.Explains(service, result.Sent.Add(result.Latency))
	tr.failed[kind]++
	tr.noticed[fmt.Sprintf("%s: %s (%s)", service, result.Fault, kind)]++
	if kind == fault.None {
		tr.unexplained[fmt.Sprintf("%s %s: %s", result.Sent.UTC().Format(time.TimeOnly), service, result.Fault)]++
	}
}

// begin counts from now.
func (tr *traffic) begin() {
	tr.mutex.Lock()
	defer tr.mutex.Unlock()
	tr.requests = 0
	clear(tr.failed)
	clear(tr.unexplained)
}

// failures are the requests that failed since the last call, a line for each Service, what went wrong and what explains it.
func (tr *traffic) failures() (lines []string) {
	tr.mutex.Lock()
	defer tr.mutex.Unlock()
	for _, what := range slices.Sorted(maps.Keys(tr.noticed)) {
		lines = append(lines, fmt.Sprintf("%d failed of %s", tr.noticed[what], what))
	}
	clear(tr.noticed)
	return lines
}

// inject notes a fault that is about to happen.
func (tr *traffic) inject(step fault.Step) {
	tr.mutex.Lock()
	defer tr.mutex.Unlock()
	tr.history = append(tr.history, fault.Injected{Step: step, Began: time.Now()})
}

// latest is the latest of the answers of each Service.
func (tr *traffic) latest() map[string]time.Time {
	tr.mutex.Lock()
	defer tr.mutex.Unlock()
	latest := map[string]time.Time{}
	for service, answers := range tr.answers {
		latest[service] = answers.Latest()
	}
	return latest
}

// lastFaults are for people.
func (tr *traffic) lastFaults() string {
	const many = 20
	tr.mutex.Lock()
	defer tr.mutex.Unlock()
	return tr.history.Last(many)
}
