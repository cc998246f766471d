package stories_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/test/testenv"
)

// reporter is who reports the events of the operator. The API server reports some of its
// own about Services, for example of the addresses that it gives them.
const reporter = "critical-service-operator"

// eventRow is one line of the table in docs/events.md.
type eventRow struct {
	reasons             []string
	kind                string
	regarding           []string
	related, action     string
	relatedMayBeMissing bool
}

var word = regexp.MustCompile("[A-Za-z]+")

// tableRows are the cells of those lines of a page, below a heading, that are rows
// of a table with a number of columns.
func tableRows(page, heading string, columns int) ([][]string, error) {
	text, err := os.ReadFile(testenv.Path(page))
	if err != nil {
		return nil, err
	}
	_, section, _ := strings.Cut(string(text), "\n"+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var rows [][]string
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " |")
		if strings.HasPrefix(line, "| `") && len(cells) == columns {
			rows = append(rows, cells)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s has no table of %d columns under %q", page, columns, heading)
	}
	return rows, nil
}

func eventTable() ([]eventRow, error) {
	rows, err := tableRows("docs/events.md", "## All of them", 6)
	var table []eventRow
	for _, cells := range rows {
		table = append(table, eventRow{
			reasons: word.FindAllString(cells[0], -1), kind: strings.TrimSpace(cells[1]),
			regarding: word.FindAllString(cells[2], -1), related: strings.TrimSpace(cells[3]),
			action: strings.Trim(cells[4], " `"), relatedMayBeMissing: strings.Contains(cells[5], "`related`"),
		})
	}
	return table, err
}

// fits reports whether a line of the table is about an event.
func (row eventRow) fits(event *eventsv1.Event) bool {
	related := row.related == ""
	if event.Related != nil {
		related = row.related == documentedKind(event.Related.Kind)
	} else if row.relatedMayBeMissing {
		related = true
	}
	return related && slices.Contains(row.reasons, event.Reason) && row.kind == event.Type &&
		slices.Contains(row.regarding, documentedKind(event.Regarding.Kind)) && row.action == event.Action
}

// documentedKind is the word of docs/events.md for the kind of an object.
func documentedKind(kind string) string {
	if kind == criticalv2.CriticalServiceKind.Kind || kind == criticalv2.ServiceFallbackKind.Kind {
		return "policy"
	}
	return kind
}

// lintEvent says what is wrong with an event of the operator.
func lintEvent(event *eventsv1.Event, table []eventRow) []string {
	where := fmt.Sprintf("event %s (%s, %s) about %s %s", event.Reason, event.Type, event.Action, event.Regarding.Kind, event.Regarding.Name)
	wrong := testenv.LintMessage(where, event.Note)
	if !slices.ContainsFunc(table, func(row eventRow) bool { return row.fits(event) }) {
		wrong = append(wrong, where+fmt.Sprintf(", related %v: docs/events.md has no such line", event.Related))
	}
	if len(event.Note) > 1024 || !testenv.IsWord(event.Reason) || !testenv.IsWord(event.Action) {
		wrong = append(wrong, where+": the note is too long, or reason and action are no words")
	}
	if event.EventTime.IsZero() || event.ReportingController != reporter || event.ReportingInstance == "" {
		wrong = append(wrong, where+": it does not say when, or who reports it")
	}
	if event.Regarding.UID == "" && event.Regarding.Kind != "Service" || event.Regarding.ResourceVersion != "" {
		wrong = append(wrong, where+": it must name the object for good, and not one version of it")
	}
	if event.Series != nil && (event.Series.Count < 2 || event.Series.LastObservedTime.Before(&event.EventTime)) {
		wrong = append(wrong, where+": the series makes no sense")
	}
	return wrong
}

// reported are the events of the operator in the world's namespace, and those about
// one of its policies.
func (w *world) reported(ctx context.Context, policies ...criticalv2.Policy) []eventsv1.Event {
	w.T.Helper()
	var ours []eventsv1.Event
	for _, namespace := range []string{w.Namespace, metav1.NamespaceDefault} {
		var list eventsv1.EventList
		w.Expect(w.Cluster.Client.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
		for _, event := range list.Items {
			about := namespace == w.Namespace || slices.ContainsFunc(policies, func(p criticalv2.Policy) bool { return p.GetUID() == event.Regarding.UID })
			if about && event.ReportingController == reporter {
				ours = append(ours, event)
			}
		}
	}
	return ours
}

// lintEvents holds all events of the world to the documentation.
func (w *world) lintEvents(ctx context.Context, policy criticalv2.Policy) {
	w.T.Helper()
	table, err := eventTable()
	w.Expect(err).NotTo(HaveOccurred())
	for _, event := range w.reported(ctx, policy) {
		for _, wrong := range lintEvent(&event, table) {
			w.T.Error(wrong)
		}
	}
}

// flaps is how often a Service goes down and comes back.
const flaps = 60

// As often as a Service may go down and come back, people read of it in a few
// lines, with the number, and the API server keeps a few objects.
func TestAServiceThatFlapsDoesNotFloodTheClusterWithEvents(t *testing.T) {
	w := withResponder(t)
	began := time.Now()
	policy := w.policy("shop", toPage)
	w.start(w.complete())
	service, real := w.armed(policy, "web")
	for flap := range flaps {
		w.fail(service, real)
		w.Eventually(w.published(service)).Should(Equal("page: responder-1 on http=20000, promoted"))
		if flap == flaps-1 { // Outages as short as these may be left out of the status.
			w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
		}
		real = w.recover(service)
		w.Eventually(w.published(service)).Should(Equal("page: responder-1 on http=20000, standby"))
	}
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
	w.Eventually(w.EventsOf(service, "FallbackPromoted")).Should(HaveLen(1), "the first is written")
	w.Eventually(w.EventsOf(service, "FallbackDemoted")).Should(HaveLen(1))
	w.Eventually(func() bool {
		event := w.Events(service, "FallbackPromoted")[0]
		return event.Series != nil && event.Series.Count > 1
	}).Should(BeTrue(), "the others are counted")
	w.settle()

	about := map[string]int{}
	for _, event := range w.reported(t.Context(), policy) {
		about[event.Reason]++
	}
	g := NewWithT(t)
	g.Expect(about).To(HaveKeyWithValue("FallbackPromoted", 1))
	g.Expect(about).To(HaveKeyWithValue("FallbackDemoted", 1))
	for reason, objects := range about {
		g.Expect(objects).To(BeNumerically("<=", 2), reason)
	}
	writes := len(w.operator.Traffic.Requests(func(r testenv.Request) bool { return r.Resource() == "events" }))
	stories := len(about)
	most := stories * (events.AtOnce + int(time.Since(began)/events.Every))
	g.Expect(writes).To(BeNumerically("<=", most), "%d outages, %d reasons", flaps, stories)
	t.Logf("%d outages in %s: %d stories, %d writes of events", flaps, time.Since(began).Round(time.Second), stories, writes)

	outages := w.statusOf(policy).Outages
	g.Expect(len(outages)).To(BeNumerically("<=", criticalv2.MaxOutagesOfService), "the history does not grow either")
	g.Expect(outages).NotTo(BeEmpty())
}

func TestTheLintFindsWhatIsWrongWithEvents(t *testing.T) {
	table, err := eventTable()
	if err != nil {
		t.Fatal(err)
	}
	good := func() *eventsv1.Event {
		return &eventsv1.Event{
			Reason: "FallbackPromoted", Type: corev1.EventTypeWarning, Action: "PromoteFallback", Note: "No ready endpoint.",
			EventTime: metav1.NowMicro(), ReportingController: "critical-service-operator", ReportingInstance: "critical-service-operator-1",
			Regarding: corev1.ObjectReference{Kind: "Service", Name: "web", UID: "1"}, Related: &corev1.ObjectReference{Kind: "CriticalService"},
		}
	}
	for sentence, test := range map[string]struct {
		spoil func(*eventsv1.Event)
		want  string
	}{
		"another type than the table says":         {func(e *eventsv1.Event) { e.Type = corev1.EventTypeNormal }, "no such line"},
		"a reason that the table does not have":    {func(e *eventsv1.Event) { e.Reason = "Promoted" }, "no such line"},
		"another action than the table says":       {func(e *eventsv1.Event) { e.Action = "Promote" }, "no such line"},
		"an event about the wrong kind":            {func(e *eventsv1.Event) { e.Regarding.Kind = "Pod" }, "no such line"},
		"no related object where one is due":       {func(e *eventsv1.Event) { e.Related = nil }, "no such line"},
		"an empty note":                            {func(e *eventsv1.Event) { e.Note = "" }, "empty"},
		"a note beyond the bounds":                 {func(e *eventsv1.Event) { e.Note = strings.Repeat("x", 1025) }, "too long"},
		"a reference to one version of the object": {func(e *eventsv1.Event) { e.Regarding.ResourceVersion = "7" }, "not one version"},
		"no time":         {func(e *eventsv1.Event) { e.EventTime = metav1.MicroTime{} }, "when"},
		"a series of one": {func(e *eventsv1.Event) { e.Series = &eventsv1.EventSeries{Count: 1} }, "no sense"},
	} {
		t.Run(sentence, func(t *testing.T) {
			event := good()
			test.spoil(event)
			NewWithT(t).Expect(lintEvent(event, table)).To(ContainElement(ContainSubstring(test.want)))
		})
	}
	NewWithT(t).Expect(lintEvent(good(), table)).To(BeEmpty())
}
