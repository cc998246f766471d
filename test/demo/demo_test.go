package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/critical-service/operator/test/prober"
)

func TestManifestsUseTheImageThatWasAskedFor(t *testing.T) {
	d := &demo{options: options{demoImage: "registry.example/demo:1"}}
	for file, want := range map[string]int{
		shopManifest: 3, fallbackManifest: 1, criticalServiceManifest: 1, proberManifest: 1,
	} {
		t.Run(file, func(t *testing.T) {
			g := NewWithT(t)
			objects, err := d.objects(file)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(objects).To(HaveLen(want))
			for _, object := range objects {
				text, err := object.MarshalJSON()
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(string(text)).NotTo(ContainSubstring(defaultDemoImage))
			}
		})
	}
}

func TestUntil(t *testing.T) {
	quiet := func(string) {}
	t.Run("ends when the check says so", func(t *testing.T) {
		looks := 0
		err := until(t.Context(), "it", time.Minute, func(context.Context) (bool, string, error) {
			looks++
			return looks == 2, "", nil
		}, quiet)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	})
	t.Run("gives the last state when the time is up", func(t *testing.T) {
		err := until(t.Context(), "the shop is ready", time.Millisecond, func(context.Context) (bool, string, error) {
			return false, "1 of 2 Pods", nil
		}, quiet)
		NewWithT(t).Expect(err).To(MatchError("not within 1ms: the shop is ready; last seen: 1 of 2 Pods"))
	})
	t.Run("gives the error of the check when the time is up", func(t *testing.T) {
		err := until(t.Context(), "the shop is ready", time.Second, func(context.Context) (bool, string, error) {
			return true, "", errors.New("no such host")
		}, quiet)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("last seen: no such host")))
	})
	t.Run("says that it was interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		err := until(ctx, "the shop is ready", time.Minute, func(context.Context) (bool, string, error) {
			cancel()
			return false, "", nil
		}, quiet)
		NewWithT(t).Expect(err).To(MatchError("interrupted while waiting: the shop is ready"))
	})
}

func TestSteady(t *testing.T) {
	tests := map[string]struct {
		seen []prober.Result
		end  error
		done bool
		err  string
	}{
		"without requests nobody is known to answer":     {},
		"an answerer that has held long enough":          {seen: requests(0, 101, fallback), done: true},
		"an answerer that has not yet held long enough":  {seen: requests(0, 99, fallback)},
		"another answerer":                               {seen: requests(0, 200, shop)},
		"one request without an answer starts it afresh": {seen: append(requests(0, 150, fallback), append(requests(1500*time.Millisecond, 1, prober.Nobody), requests(1510*time.Millisecond, 50, fallback)...)...)},
		"a prober that has ended is an error":            {seen: requests(0, 200, fallback), end: errors.New("evicted"), err: "evicted"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWatcher(newStrip(&strings.Builder{}, painter{}))
			for _, result := range test.seen {
				w.add(result)
			}
			if test.end != nil {
				w.end(test.end)
			}
			done, _, err := w.steady(fallback, time.Second)
			if test.err != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.err)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(done).To(Equal(test.done))
		})
	}
}

func TestTheVerdictSaysForHowLongNobodyAnswered(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	d := &demo{screen: &screen{out: &out}}
	var seen []prober.Result
	seen = append(seen, requests(0, 100, shop)...)
	seen = append(seen, requests(time.Second, 50, prober.Nobody)...)
	seen = append(seen, requests(1500*time.Millisecond, 100, fallback)...)
	seen = append(seen, requests(2500*time.Millisecond, 101, shop)...)
	d.showVerdict(prober.Segments(seen))
	g.Expect(out.String()).To(Equal(strings.Join([]string{
		"    from      to  requests   answered by",
		"  0.00 s  1.00 s       100   shop",
		"  1.00 s  1.50 s        50   nobody (connection refused)",
		"  1.50 s  2.50 s       100   fallback",
		"  2.50 s  3.50 s       101   shop",
		"",
		"  ✓ While the shop had no Pods, the fallback answered 100 requests; it left when the shop was back.",
		"  ✓ Without an answer: 0.50 s (50 of 351 requests), the longest gap 0.50 s.",
		"",
	}, "\n")))
}

func TestATableOfTheServerIsPrintedAsKubectlDoes(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	g.Expect(printTable(&out, &metav1.Table{
		ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "Name"}, {Name: "Ready"}, {Name: "Age"}},
		Rows: []metav1.TableRow{
			{Cells: []any{"shop", "True", "5s"}, Object: runtime.RawExtension{}},
			{Cells: []any{"a-longer-name", nil, "12m"}},
		},
	})).To(Succeed())
	g.Expect(out.String()).To(Equal("" +
		"NAME            READY   AGE\n" +
		"shop            True    5s\n" +
		"a-longer-name           12m\n"))
}

func TestOnlyTheEventsOfThisRunAboutTheShopAreShown(t *testing.T) {
	d := &demo{began: start}
	event := func(kind, name, namespace string, at time.Time) corev1.Event {
		return corev1.Event{
			InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name, Namespace: namespace},
			LastTimestamp:  metav1.NewTime(at),
		}
	}
	tests := map[string]struct {
		event corev1.Event
		want  bool
	}{
		"an event of the Service":         {event: event("Service", shop, namespace, start.Add(time.Minute)), want: true},
		"an event of the CriticalService": {event: event("CriticalService", shop, "", start), want: true},
		"an event of an earlier run":      {event: event("Service", shop, namespace, start.Add(-time.Second))},
		"an event of another Service":     {event: event("Service", "other", namespace, start)},
		"an event of another namespace":   {event: event("Service", shop, "elsewhere", start)},
		"an event that has only an EventTime": {
			event: corev1.Event{
				InvolvedObject: corev1.ObjectReference{Kind: "Service", Name: shop, Namespace: namespace},
				EventTime:      metav1.NewMicroTime(start.Add(time.Second)),
			},
			want: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(d.relevant(test.event)).To(Equal(test.want))
		})
	}
}
