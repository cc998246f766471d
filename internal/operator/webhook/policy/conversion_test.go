package policy

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	library "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/critical-service/operator/internal/operator/webhook"
)

const mebibyte = 1 << 20

// endless is a body that goes on.
type endless struct{}

// Read fills with spaces, which JSON allows everywhere.
func (endless) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = ' '
	}
	return len(into), nil
}

// Every Pod of the cluster can send these.
func TestLargeRequestsOfAnyClient(t *testing.T) {
	handler, err := Conversion()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	webhooks := &webhook.Server{Server: library.NewServer(library.Options{})}
	webhooks.Register(webhook.Path, handler)
	server := httptest.NewServer(webhooks.WebhookMux())
	t.Cleanup(server.Close)
	objects := func(of string, bytes int) string {
		return `{"request":{"desiredAPIVersion":"mycrd.com/v2","objects":[` + strings.Repeat(of+",", bytes/len(of)) + of + `]}}`
	}
	for sentence, test := range map[string]struct {
		body   io.Reader
		length int64
	}{
		"400 MiB":                       {io.LimitReader(endless{}, 400*mebibyte), -1},
		"400 MiB, as is said before":    {io.LimitReader(endless{}, 400*mebibyte), 400 * mebibyte},
		"millions of objects":           {strings.NewReader(objects(`{}`, 3*mebibyte)), -1},
		"objects with millions of keys": {strings.NewReader(objects(`{"a":{},"b":[],"c":0}`, 3*mebibyte)), -1},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+webhook.Path, test.body)
			g.Expect(err).NotTo(HaveOccurred())
			request.ContentLength = test.length
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			response, err := http.DefaultClient.Do(request)
			g.Expect(err).NotTo(HaveOccurred())
			defer response.Body.Close()
			runtime.ReadMemStats(&after)
			g.Expect(response.StatusCode).To(Equal(http.StatusRequestEntityTooLarge))
			g.Expect(after.TotalAlloc-before.TotalAlloc).To(BeNumerically("<", 64*mebibyte), "bytes that were allocated in all")
		})
	}
}

// What is applied is converted before it is validated.
func TestAnObjectIsReadAsFarAsItIsValid(t *testing.T) {
	g := NewWithT(t)
	var read current
	g.Expect(json.Unmarshal([]byte(`{"apiVersion":"mycrd.com/v2","kind":"CriticalService","metadata":{"name":"shop"},
		"spec":{"namespaces":["shop"],"activationDelay":"soon","deactivationDelay":"1m","fallback":{"page":{"statusCode":99999999999}}},
		"status":{"observedGeneration":"no number","conditions":[{"type":"Outage"}]}}`), &read)).To(Succeed())
	want := current{}
	g.Expect(json.Unmarshal([]byte(`{"apiVersion":"mycrd.com/v2","kind":"CriticalService","metadata":{"name":"shop"},
		"spec":{"namespaces":["shop"],"deactivationDelay":"1m"},"status":{"conditions":[{"type":"Outage"}]}}`), &want)).To(Succeed())
	g.Expect(read).To(Equal(want))
	g.Expect(json.Unmarshal([]byte(`{"metadata":"nonsense"}`), &read)).NotTo(Succeed())
	g.Expect(json.Unmarshal([]byte(`{"spec":{"matchLabels":"nonsense","namespace":"shop"}}`), &old{})).To(Succeed())
}
