package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/kubernetes"
)

// cost is what a phase cost.
type cost struct {
	cpu time.Duration
	// rss is the operator's memory at the end, and peak the most that its process ever had.
	rss, peak int64
	counters
}

// counters are what two scrapes say. All but the scrape itself are counted without end, and in a cost
// are differences.
type counters struct {
	// methods are the operator's requests by HTTP method: watches are in GET, leases in PUT.
	methods map[string]int
	// sliceWrites are its writes of slices that the API server accepted, and late those that met a
	// slice which had changed.
	sliceWrites, late int
	// reads are the requests of all clients that read Services, slices or CriticalServices.
	reads int
	// scrapeTime and scrapeSize are of a scrape of the operator.
	scrapeTime time.Duration
	scrapeSize int
}

// sample is one look at a process.
type sample struct {
	cpu       time.Duration
	rss, peak int64
}

func difference(before, after counters, used, usedNow sample) cost {
	spent := after
	spent.methods = map[string]int{}
	for method, count := range after.methods {
		if n := count - before.methods[method]; n != 0 {
			spent.methods[method] = n
		}
	}
	spent.sliceWrites -= before.sliceWrites
	spent.late -= before.late
	spent.reads -= before.reads
	return cost{cpu: usedNow.cpu - used.cpu, rss: usedNow.rss, peak: usedNow.peak, counters: spent}
}

// methodsText lists requests by method: "GET 2, PATCH 1000".
func methodsText(methods map[string]int) string {
	var parts []string
	for _, method := range slices.Sorted(maps.Keys(methods)) {
		parts = append(parts, fmt.Sprintf("%s %d", method, methods[method]))
	}
	return strings.Join(parts, ", ")
}

// families are the metrics of a scrape that have one of some names.
func families(text []byte, names ...string) (map[string]*dto.MetricFamily, error) {
	var kept bytes.Buffer
	for line := range bytes.Lines(text) {
		for _, name := range names {
			if bytes.HasPrefix(line, []byte(name+"{")) || bytes.HasPrefix(line, []byte("# TYPE "+name+" ")) {
				kept.Write(line)
			}
		}
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(&kept)
}

// sum adds the samples of a counter that a test of their labels accepts, by one of the labels.
func sum(family *dto.MetricFamily, by string, accepts func(labels map[string]string) bool) map[string]int {
	sums := map[string]int{}
	for _, metric := range family.GetMetric() {
		labels := map[string]string{}
		for _, label := range metric.GetLabel() {
			labels[label.GetName()] = label.GetValue()
		}
		if accepts(labels) {
			sums[labels[by]] += int(metric.GetCounter().GetValue())
		}
	}
	return sums
}

// ofOperator reads the counters of a scrape of the operator.
func (c *counters) ofOperator(text []byte) error {
	const requests, writes = "rest_client_requests_total", "critical_service_writes_total"
	found, err := families(text, requests, writes)
	if err != nil {
		return err
	}
	if found[requests] == nil {
		return fmt.Errorf("the operator's metrics do not have %s", requests)
	}
	c.methods = sum(found[requests], "method", func(map[string]string) bool { return true })
	results := sum(found[writes], "result", func(labels map[string]string) bool { return labels["kind"] == "EndpointSlice" })
	c.sliceWrites, c.late = results["ok"], results["late"]
	return nil
}

// failoverReads are the resources that are read to decide about a Service. The diagnosis of an outage,
// which begins later, reads others.
var failoverReads = []string{"endpointslices", "services", "criticalservices"}

// ofServer reads the counters of a scrape of the API server.
func (c *counters) ofServer(text []byte) error {
	const requests = "apiserver_request_total"
	found, err := families(text, requests)
	if err != nil {
		return err
	}
	if found[requests] == nil {
		return errors.New("the API server's metrics do not count requests")
	}
	for _, n := range sum(found[requests], "verb", func(labels map[string]string) bool {
		return (labels["verb"] == "GET" || labels["verb"] == "LIST") && slices.Contains(failoverReads, labels["resource"])
	}) {
		c.reads += n
	}
	return nil
}

// serverMetrics scrapes the API server.
func serverMetrics(ctx context.Context, clients kubernetes.Interface) ([]byte, error) {
	return clients.Discovery().RESTClient().Get().AbsPath("/metrics").Do(ctx).Raw()
}

// tick is the unit of CPU time in /proc, the same on every machine that Go runs on.
const tick = 10 * time.Millisecond

// look reads CPU and memory of a process. A scrape would cost CPU itself.
func look(pid int) (sample, error) {
	folder := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return sample{}, err
	}
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		return sample{}, err
	}
	_, cpu, err := parseStat(string(stat))
	return sample{cpu: cpu, rss: kibibytes(string(status), "VmRSS:"), peak: kibibytes(string(status), "VmHWM:")}, err
}

// started is when a process started.
func started(pid int) (time.Time, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return time.Time{}, err
	}
	sinceBoot, _, err := parseStat(string(stat))
	if err != nil {
		return time.Time{}, err
	}
	uptime, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseFloat(strings.Fields(string(uptime))[0], 64)
	return time.Now().Add(sinceBoot - time.Duration(seconds*float64(time.Second))), err
}

// parseStat reads from /proc/PID/stat when the process started, after boot, and its CPU time. The name
// in parentheses may have blanks and
// parentheses.
func parseStat(stat string) (started, cpu time.Duration, err error) {
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) < 20 {
		return 0, 0, fmt.Errorf("cannot read %q", stat)
	}
	var numbers [3]int64
	for i, field := range []int{11, 12, 19} { // utime, stime and starttime: 14, 15 and 22 of proc(5).
		if numbers[i], err = strconv.ParseInt(fields[field], 10, 64); err != nil {
			return 0, 0, err
		}
	}
	return time.Duration(numbers[2]) * tick, time.Duration(numbers[0]+numbers[1]) * tick, nil
}

// kibibytes reads a line of /proc/PID/status, in bytes.
func kibibytes(status, name string) int64 {
	for line := range strings.Lines(status) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == name {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			return n << 10
		}
	}
	return 0
}
