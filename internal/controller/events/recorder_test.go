package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	typedeventsv1 "k8s.io/client-go/kubernetes/typed/events/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

// server stands for the API server: it keeps events, and counts what is written.
type server struct {
	typedeventsv1.EventInterface
	mu     sync.Mutex
	names  []string
	stored map[string]*eventsv1.Event
	writes int
	// refuse is the answer to every write; nil takes it.
	refuse error
}

func (s *server) Events(string) typedeventsv1.EventInterface { return s }

func (s *server) Create(_ context.Context, event *eventsv1.Event, _ metav1.CreateOptions) (*eventsv1.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return nil, s.refuse
	}
	s.writes++
	if s.stored[event.Name] != nil {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "events"}, event.Name)
	}
	s.names = append(s.names, event.Name)
	s.stored[event.Name] = event.DeepCopy()
	return event, nil
}

func (s *server) Patch(_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*eventsv1.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return nil, s.refuse
	}
	if s.stored[name] == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "events"}, name)
	}
	s.writes++
	return s.stored[name], json.Unmarshal(data, s.stored[name])
}

// written is what a user reads, for example "FallbackPromoted x2: No ready endpoint".
func (s *server) written() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := []string{}
	for _, name := range s.names {
		event := s.stored[name]
		if event == nil {
			continue
		}
		count := ""
		if event.Series != nil {
			count = fmt.Sprintf(" x%d", event.Series.Count)
		}
		lines = append(lines, event.Reason+count+": "+event.Note)
	}
	return lines
}

func (s *server) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.stored)
}

func (s *server) answer(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = err
}

// desk is a Recorder whose time a test decides.
type desk struct {
	*server
	*Recorder
	t     *testing.T
	clock *clocktesting.FakeClock
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	fake := clocktesting.NewFakeClock(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	kept := &server{stored: map[string]*eventsv1.Event{}}
	d := &desk{server: kept, Recorder: newRecorder(kept, runtime.NewScheme(), fake, "operator"), t: t, clock: fake}
	t.Cleanup(d.queue.ShutDown)
	return d
}

func service(name string) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: "web", Name: name, UID: types.UID(name)}
}

// say sends an event about a Service, and lets the recorder write what it may.
func (d *desk) say(name, reason, note string) {
	d.Eventf(service(name), nil, corev1.EventTypeWarning, reason, "Act", "%s", note)
	d.work()
}

// pass lets time pass.
func (d *desk) pass(long time.Duration) {
	const pace = 10 * time.Second
	for range long / pace {
		d.clock.Step(pace)
		d.work()
	}
}

// work writes what may be written now, as a worker does.
func (d *desk) work() {
	for of := range d.series {
		_, err := d.write(d.t.Context(), of)
		if apierrors.IsNotFound(err) {
			_, _ = d.write(d.t.Context(), of)
		}
	}
}

func TestWhatIsWrittenOfAnObject(t *testing.T) {
	for sentence, test := range map[string]struct {
		happens func(d *desk)
		want    []string
	}{
		"the first time is written at once": {
			happens: func(d *desk) { d.say("shop", "Promoted", "a") },
			want:    []string{"Promoted: a"},
		},
		"the same again is counted": {
			happens: func(d *desk) { d.say("shop", "Promoted", "a"); d.say("shop", "Promoted", "a") },
			want:    []string{"Promoted x2: a"},
		},
		"another note is another event, because a note cannot be changed": {
			happens: func(d *desk) { d.say("shop", "Denied", "quota"); d.say("shop", "Denied", "Pod Security") },
			want:    []string{"Denied: quota", "Denied: Pod Security"},
		},
		"other reasons and other objects are other series": {
			happens: func(d *desk) {
				d.say("shop", "Promoted", "a")
				d.say("shop", "Demoted", "a")
				d.say("till", "Promoted", "a")
			},
			want: []string{"Promoted: a", "Demoted: a", "Promoted: a"},
		},
		"after a silence the same is a new event": {
			happens: func(d *desk) {
				d.say("shop", "Promoted", "a")
				d.pass(11 * time.Minute)
				d.say("shop", "Promoted", "a")
			},
			want: []string{"Promoted: a", "Promoted: a"},
		},
		"what comes too often is counted, and written some minutes later": {
			happens: func(d *desk) {
				for range 30 {
					d.say("shop", "Promoted", "a")
				}
				d.pass(Every)
			},
			want: []string{"Promoted x30: a"},
		},
		"notes that change too often are written as the latest, with the number of those left out": {
			happens: func(d *desk) {
				for i := range 30 {
					d.say("shop", "Denied", fmt.Sprint(i))
				}
				d.pass(Every)
			},
			want: []string{"Denied: 0", "Denied: 1", "Denied: 2", "Denied: 3", "Denied: 4", "Denied x25: 29"},
		},
		"a new series is written at once, however much is written of another": {
			happens: func(d *desk) {
				for range 30 {
					d.say("shop", "Promoted", "a")
				}
				d.say("shop", "Demoted", "b")
				d.say("till", "Promoted", "a")
			},
			want: []string{"Promoted x5: a", "Demoted: b", "Promoted: a"},
		},
		"an event that the API server has forgotten is written again, with its number": {
			happens: func(d *desk) {
				d.say("shop", "Promoted", "a")
				d.expire()
				d.pass(time.Minute)
				d.say("shop", "Promoted", "a")
			},
			want: []string{"Promoted x2: a"},
		},
		"what the API server could not take is written when it can": {
			happens: func(d *desk) {
				d.answer(errors.New("connection refused"))
				for range 30 {
					d.say("shop", "Promoted", "a")
				}
				d.answer(nil)
				d.pass(time.Minute)
			},
			want: []string{"Promoted x30: a"},
		},
		"what the API server will never take is left out": {
			happens: func(d *desk) {
				d.answer(apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "x", errors.New("no")))
				d.say("shop", "Promoted", "a")
				d.answer(nil)
				d.pass(time.Minute)
			},
			want: []string{},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := newDesk(t)
			test.happens(d)
			NewWithT(t).Expect(d.written()).To(Equal(test.want))
		})
	}
}

// A Service goes down and comes back every minute of an hour.
func TestAFlappingHourIsTwoEventsAndFewWrites(t *testing.T) {
	g := NewWithT(t)
	d := newDesk(t)
	for range 60 {
		d.say("shop", "Promoted", "down")
		d.pass(30 * time.Second)
		d.say("shop", "Demoted", "up")
		d.pass(30 * time.Second)
	}
	g.Expect(d.written()).To(HaveLen(2))
	most := 2 * (AtOnce + int(time.Hour/Every))
	g.Expect(d.writes).To(BeNumerically("<=", most))
	g.Expect(d.writes).To(BeNumerically(">", most/2), "and yet the counts are kept up to date")

	d.pass(Every)
	g.Expect(d.written()).To(Equal([]string{"Promoted x60: down", "Demoted x60: up"}), "no time is lost")
	d.pass(forgotten)
	g.Expect(d.series).To(BeEmpty(), "nor is anything remembered for ever")
}

// The worst that can be: another note every time.
func TestAFlappingHourOfManyNotesIsBoundedToo(t *testing.T) {
	g := NewWithT(t)
	d := newDesk(t)
	for i := range 360 {
		d.say("shop", "Denied", fmt.Sprintf("Pod %d is refused", i))
		d.pass(10 * time.Second)
	}
	d.pass(Every)
	g.Expect(len(d.written())).To(BeNumerically("<=", AtOnce+int((time.Hour+Every)/Every)))
	counted := 0
	for _, event := range d.stored {
		count := 1
		if event.Series != nil {
			count = int(event.Series.Count)
		}
		counted += count
	}
	g.Expect(counted).To(Equal(360))
	g.Expect(d.written()).To(ContainElement(ContainSubstring("Pod 359 is refused")), "the last is known")
}

func TestAnEventIsWhatTheAPIConventionsAskFor(t *testing.T) {
	g := NewWithT(t)
	d := newDesk(t)
	policy := &corev1.ObjectReference{APIVersion: "mycrd.com/v2", Kind: "CriticalService", Name: "storefront", UID: "2"}
	d.Eventf(service("shop"), policy, corev1.EventTypeNormal, "Demoted", "DemoteFallback", "%s", strings.Repeat("é", 2000))
	d.Eventf(policy, nil, corev1.EventTypeWarning, "TemplateNotFound", "PrepareFallback", "100%% %s", "sure")
	d.work()

	g.Expect(d.names).To(HaveLen(2))
	for _, event := range d.stored {
		g.Expect(event.ReportingController).To(Equal("operator"))
		g.Expect(event.ReportingInstance).To(HavePrefix("operator-"))
		g.Expect(event.EventTime.Time).To(Equal(d.clock.Now()))
		g.Expect(len(event.Note)).To(BeNumerically("<=", maxNote))
		g.Expect(utf8.ValidString(event.Note)).To(BeTrue())
		g.Expect(event.DeprecatedCount).To(BeZero())
		if event.Reason == "Demoted" {
			g.Expect(event.Namespace).To(Equal("web"), "an event is where its object is")
			g.Expect(event.Action).To(Equal("DemoteFallback"))
			g.Expect(event.Related).To(Equal(policy))
			g.Expect(len(event.Note)).To(BeNumerically(">", maxNote-4))
		} else {
			g.Expect(event.Namespace).To(Equal("default"), "or in default if it has no namespace")
			g.Expect(event.Related).To(BeNil())
			g.Expect(event.Note).To(Equal("100% sure"))
		}
	}
}

func TestARecorderWritesInTheBackgroundAndSaysWhatIsDueBeforeItStops(t *testing.T) {
	g := NewWithT(t)
	d := newDesk(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	d.Eventf(service("early"), nil, corev1.EventTypeNormal, "Promoted", "Act", "before it runs")
	go func() { ended <- d.Start(ctx) }()
	g.Eventually(d.written).WithTimeout(time.Minute).Should(Equal([]string{"Promoted: before it runs"}))
	for i := range 100 {
		d.Eventf(service(fmt.Sprint(i)), nil, corev1.EventTypeNormal, "Promoted", "Act", "last words")
	}
	stop()
	g.Eventually(ended).WithTimeout(time.Minute).Should(Receive(Succeed()))
	g.Expect(d.written()).To(HaveLen(101))
}
