package main

import (
	"context"
	"errors"
	"html"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/critical-service/operator/test/prober"
)

func TestManifestsUseTheImageThatWasAskedFor(t *testing.T) {
	d := &demo{options: options{demoImage: "registry.example/demo:1"}}
	for file, want := range map[string]int{
		shopManifest: 3, criticalServiceManifest: 1, proberManifest: 1,
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
		"without requests no answerer is known":          {},
		"an answerer that has held long enough":          {seen: requests(0, 101, page), done: true},
		"an answerer that has not yet held long enough":  {seen: requests(0, 99, page)},
		"another answerer":                               {seen: requests(0, 200, shop)},
		"one request without an answer starts it afresh": {seen: append(requests(0, 150, page), append(requests(1500*time.Millisecond, 1, prober.NoAnswer), requests(1510*time.Millisecond, 50, page)...)...)},
		"a prober that has ended is an error":            {seen: requests(0, 200, page), end: errors.New("evicted"), err: "evicted"},
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
			done, _, err := w.steady(page, time.Second)
			if test.err != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.err)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(done).To(Equal(test.done))
		})
	}
}

func TestTheVerdict(t *testing.T) {
	after := start.Add
	twice := []outage{
		{began: after(time.Second), over: after(3 * time.Second)},
		{operator: true, began: after(4 * time.Second), over: after(5 * time.Second)},
	}
	tests := map[string]struct {
		seen     [][]prober.Result
		outages  []outage
		want     []string
		complain string
	}{
		"two outages, one of them with a gap": {
			seen: [][]prober.Result{
				requests(0, 100, shop), requests(time.Second, 50, prober.NoAnswer), requests(1500*time.Millisecond, 150, page),
				requests(3*time.Second, 110, shop), requests(4100*time.Millisecond, 90, page), requests(5*time.Second, 101, shop),
			},
			outages: twice,
			want: []string{
				"    from      to  requests   answered by",
				"  0.00 s  1.00 s       100   shop",
				"  1.00 s  1.50 s        50   no answer (connection refused)",
				"  1.50 s  3.00 s       150   page",
				"  3.00 s  4.10 s       110   shop",
				"  4.10 s  5.00 s        90   page",
				"  5.00 s  6.00 s       101   shop",
				"",
				"  ✓ Operator down: while the shop was away, the page answered 150 requests; without an answer: 0.50 s.",
				"  ✓ Operator up: while the shop was away, the page answered 90 requests; without an answer: 0.00 s.",
				"  ✓ Once the shop was back and kube-proxy had followed, the page answered 0 requests.",
				"  ✓ Without an answer in all: 0.50 s (50 of 601 requests), the longest gap 0.50 s.",
				"",
			},
		},
		"an outage in which the page did not answer": {
			seen:     [][]prober.Result{requests(0, 400, shop)},
			outages:  twice,
			complain: "the page answered nothing",
		},
		"a page that answers although the shop is there": {
			seen: [][]prober.Result{
				requests(0, 100, shop), requests(time.Second, 200, page), requests(3*time.Second, 50, shop),
				requests(3500*time.Millisecond, 1, page), requests(3510*time.Millisecond, 50, shop),
			},
			outages:  twice[:1],
			complain: "the page answered 1 requests although the shop was there",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var out strings.Builder
			d := &demo{screen: &screen{out: &out}}
			err := d.showVerdict(&story{segments: prober.Segments(slices.Concat(test.seen...)), outages: test.outages})
			if test.complain != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.complain)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(out.String()).To(Equal(strings.Join(test.want, "\n")))
		})
	}
}

func TestTheStandbyIsDescribedInOneLine(t *testing.T) {
	g := NewWithT(t)
	conditions := discoveryv1.EndpointConditions{Ready: new(false), Serving: new(true), Terminating: new(true)}
	slice := func(address string) discoveryv1.EndpointSlice {
		return discoveryv1.EndpointSlice{
			Ports:     []discoveryv1.EndpointPort{{Port: new(int32(20000))}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}, Conditions: conditions}},
		}
	}
	g.Expect(describeStandby([]discoveryv1.EndpointSlice{slice("10.244.0.7"), slice("10.244.0.8")})).To(
		Equal("2 EndpointSlices, one for each Pod: 10.244.0.7:20000, 10.244.0.8:20000 (ready: false, serving: true, terminating: true)"))
}

func TestThePageIsKnownByItsWords(t *testing.T) {
	g := NewWithT(t)
	d := &demo{}
	objects, err := d.objects(criticalServiceManifest)
	g.Expect(err).NotTo(HaveOccurred())
	message, _, err := unstructured.NestedString(objects[0].Object, "spec", "fallback", "page", "message")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(message).To(ContainSubstring(pageSentence))
	g.Expect(html.EscapeString(pageSentence)).To(Equal(pageSentence), "it stands in the page as it is")
	g.Expect(pageSentence).NotTo(ContainSubstring(","), "a comma would end it on the command line")
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
