package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
)

// BenchmarkScrape measures a scrape of 10,000 Services, each with five series.
func BenchmarkScrape(b *testing.B) {
	const services = 10_000
	watched, _ := observetest.Of(b, &criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "storefront"}})
	for i := range services {
		key := types.NamespacedName{Namespace: fmt.Sprintf("shop-%d", i%200), Name: fmt.Sprintf("web-%d", i)}
		watched.Memory.Judgements.Set(key, summary.Judgement{
			Service: key, At: time.Unix(1_800_000_000, 0), Matching: []summary.Policy{{Key: types.NamespacedName{Name: "storefront"}}},
			State: criticalv2.StateArmed, OwnReady: 2, Fallback: criticalv2.FallbackKindPage, Published: true,
		})
		watched.Memory.Checks.Set(key, summary.Check{Asked: 2})
	}
	registry := prometheus.NewRegistry()
	if err := registry.Register(New(watched.Memory).Gauges(watched, closed())); err != nil {
		b.Fatal(err)
	}
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	request := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
	for b.Loop() {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != http.StatusOK || answer.Body.Len() < 5*services*50 {
			b.Fatalf("%d with %d bytes", answer.Code, answer.Body.Len())
		}
		b.ReportMetric(float64(answer.Body.Len()), "bytes/scrape")
	}
}
