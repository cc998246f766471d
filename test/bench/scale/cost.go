package main

import (
	"errors"
	"slices"
	"time"

	"github.com/critical-service/operator/test/bench/measure"
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
	// methods are the operator's requests.
	methods measure.Requests
	// sliceWrites are its writes of slices that the API server accepted, and late those that met a
	// slice which had changed.
	sliceWrites, late int
	// reads are the requests of all clients that read Services, slices or CriticalServices.
	reads int
	// scrapeTime and scrapeSize are of a scrape of the operator.
	scrapeTime time.Duration
	scrapeSize int
}

func difference(before, after counters, used, usedNow measure.Process) cost {
	spent := after
	spent.methods = after.methods.Since(before.methods)
	spent.sliceWrites -= before.sliceWrites
	spent.late -= before.late
	spent.reads -= before.reads
	return cost{cpu: usedNow.CPU - used.CPU, rss: usedNow.RSS, peak: usedNow.Peak, counters: spent}
}

// ofOperator reads the counters of a scrape of the operator.
func (c *counters) ofOperator(text []byte) error {
	const writes = "critical_service_writes_total"
	found, err := measure.Families(text, writes)
	if err != nil {
		return err
	}
	if c.methods, err = measure.RequestsOf(text); err != nil {
		return err
	}
	results := measure.Sum(found[writes], "result", func(labels map[string]string) bool { return labels["kind"] == "EndpointSlice" })
	c.sliceWrites, c.late = results["ok"], results["late"]
	return nil
}

// failoverReads are the resources that are read to decide about a Service. The diagnosis of an outage,
// which begins later, reads others.
var failoverReads = []string{"endpointslices", "services", "criticalservices"}

// ofServer reads the counters of a scrape of the API server.
func (c *counters) ofServer(text []byte) error {
	const requests = "apiserver_request_total"
	found, err := measure.Families(text, requests)
	if err != nil {
		return err
	}
	if found[requests] == nil {
		return errors.New("the API server's metrics do not count requests")
	}
	for _, n := range measure.Sum(found[requests], "verb", func(labels map[string]string) bool {
		return (labels["verb"] == "GET" || labels["verb"] == "LIST") && slices.Contains(failoverReads, labels["resource"])
	}) {
		c.reads += n
	}
	return nil
}
