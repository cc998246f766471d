package measure

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/kubernetes"
)

// unverified does not ask whose certificate it is.
var unverified = &http.Client{
	Timeout: time.Minute,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, //nolint:gosec // The operator's certificate is made at start, for no particular name.
	}},
}

// Scrape reads metrics once, in the text format, with a token if they want one.
func Scrape(ctx context.Context, url, token string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := unverified.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}

// ScrapeServer reads the metrics of the API server.
func ScrapeServer(ctx context.Context, clients kubernetes.Interface) ([]byte, error) {
	return clients.Discovery().RESTClient().Get().AbsPath("/metrics").Do(ctx).Raw()
}

// Families are the metrics of a scrape that have one of some names.
func Families(text []byte, names ...string) (map[string]*dto.MetricFamily, error) {
	var kept bytes.Buffer
	for line := range bytes.Lines(text) {
		for _, name := range names {
			for _, begin := range []string{name + "{", name + " ", "# TYPE " + name + " "} {
				if bytes.HasPrefix(line, []byte(begin)) {
					kept.Write(line)
				}
			}
		}
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(&kept)
}

// Sum adds the samples of a counter that a test of their labels accepts, by one of the labels.
func Sum(family *dto.MetricFamily, by string, accepts func(labels map[string]string) bool) map[string]int {
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

// Requests are those of an operator, by HTTP method: watches are in GET, leases in PUT.
type Requests map[string]int

// RequestsOf reads a scrape of an operator, which counts them without end.
func RequestsOf(text []byte) (Requests, error) {
	const name = "rest_client_requests_total"
	found, err := Families(text, name)
	if err != nil {
		return nil, err
	}
	if found[name] == nil {
		return nil, fmt.Errorf("the operator's metrics do not have %s", name)
	}
	return Sum(found[name], "method", func(map[string]string) bool { return true }), nil
}

// Since are those that came after an earlier scrape.
func (r Requests) Since(before Requests) Requests {
	came := Requests{}
	for method, count := range r {
		if n := count - before[method]; n != 0 {
			came[method] = n
		}
	}
	return came
}

// Total is how many there were of all methods.
func (r Requests) Total() int {
	sum := 0
	for _, count := range r {
		sum += count
	}
	return sum
}

// String lists them: "GET 2, PATCH 1000".
func (r Requests) String() string {
	var parts []string
	for _, method := range slices.Sorted(maps.Keys(r)) {
		parts = append(parts, fmt.Sprintf("%s %d", method, r[method]))
	}
	return strings.Join(parts, ", ")
}
