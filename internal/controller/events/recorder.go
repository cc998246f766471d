package events

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	typedeventsv1 "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/tools/reference"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/text"
)

const (
	// workers is how many events are written at the same time.
	workers = 4
	// farewell is how long an operator that stops goes on telling what is due.
	farewell = time.Second
	// maxNote is the length of a note in bytes by the API conventions.
	maxNote = 1024
)

// Recorder is an events.EventRecorder whose series are up to date.
//
// That of client-go writes the second time of a series at once and the later ones
// after half an hour, and takes events with different notes for the same, so that
// only the first note is ever seen. Somebody who looks at a Service that has been
// down twenty times would read "x2", and last week's explanation. This one writes
// the first times at once, later ones every few minutes, and another note in
// another event: AtOnce and Every bound how often that is, whatever happens.
type Recorder struct {
	events     typedeventsv1.EventsGetter
	scheme     *runtime.Scheme
	clock      clock.WithTicker
	log        logr.Logger
	controller string
	instance   string
	queue      workqueue.TypedRateLimitingInterface[key]

	mu      sync.Mutex
	stories map[key]*story
	// stamp makes the names of events unique.
	stamp int64
}

// NewRecorder makes a Recorder that runs with the manager, and tells while it leads.
func NewRecorder(mgr manager.Manager, controller string) (*Recorder, error) {
	events, err := typedeventsv1.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make the client for events: %w", err)
	}
	recorder := newRecorder(events, mgr.GetScheme(), clock.RealClock{}, controller)
	recorder.log = mgr.GetLogger().WithName("events")
	if err := mgr.Add(recorder); err != nil {
		return nil, fmt.Errorf("run the recorder of events: %w", err)
	}
	return recorder, nil
}

func newRecorder(events typedeventsv1.EventsGetter, scheme *runtime.Scheme, now clock.WithTicker, controller string) *Recorder {
	hostname, _ := os.Hostname() // It is for people only, who can do without it.
	return &Recorder{
		events: events, scheme: scheme, clock: now, log: logr.Discard(),
		controller: controller, instance: controller + "-" + hostname,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			queue.Backoff[key](),
			workqueue.TypedRateLimitingQueueConfig[key]{Clock: now},
		),
		stories: map[key]*story{},
	}
}

// Eventf implements events.EventRecorder.
func (r *Recorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	about, err := reference.GetReference(r.scheme, regarding)
	if err != nil {
		r.log.Error(err, "an event has no object", "reason", reason)
		return
	}
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: cmp.Or(about.Namespace, metav1.NamespaceDefault)},
		Regarding:  *about, Type: kind, Reason: reason, Action: action, Note: text.Shorten(fmt.Sprintf(note, args...), maxNote),
		ReportingController: r.controller, ReportingInstance: r.instance,
	}
	story := key{kind: kind, reason: reason, action: action, regarding: *about}
	if related != nil {
		if event.Related, err = reference.GetReference(r.scheme, related); err == nil {
			story.related = *event.Related
		}
	}
	r.tell(story, event)
	r.queue.Add(story)
}

func (r *Recorder) tell(of key, event *eventsv1.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	event.EventTime = metav1.NewMicroTime(now)
	event.Name = r.name(of, now)
	if r.stories[of] == nil {
		r.stories[of] = newStory()
	}
	r.stories[of].tell(event, now)
}

// name is a name that no other event of the object has.
func (r *Recorder) name(of key, now time.Time) string {
	r.stamp = max(r.stamp+1, now.UnixNano())
	return util.GenerateEventName(of.regarding.Name, r.stamp)
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: only a replica that
// leads does anything that is worth an event.
func (r *Recorder) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable: it writes events until the context ends, and
// then what is due by then.
func (r *Recorder) Start(ctx context.Context) error {
	writing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for r.next(writing) {
			}
		})
	}
	<-ctx.Done()
	r.queue.ShutDown()
	defer time.AfterFunc(farewell, cancel).Stop()
	group.Wait()
	return nil
}

// next writes what is due of one story; it returns false when all is over.
func (r *Recorder) next(ctx context.Context) bool {
	of, over := r.queue.Get()
	if over {
		return false
	}
	defer r.queue.Done(of)
	again, err := r.write(ctx, of)
	switch {
	case err != nil:
		r.queue.AddRateLimited(of)
	default:
		r.queue.Forget(of)
		if again > 0 {
			r.queue.AddAfter(of, again)
		}
	}
	return true
}

// write writes what is due of a story, and says when to look at it again.
func (r *Recorder) write(ctx context.Context, of key) (time.Duration, error) {
	page, again := r.due(of)
	if page == nil {
		return again, nil
	}
	err := r.send(ctx, page)

	r.mu.Lock()
	defer r.mu.Unlock()
	story, now := r.stories[of], r.clock.Now()
	switch class := fault.Of(err); {
	case err == nil:
		story.wrote(page, now)
	case class == fault.Gone && page.stored:
		story.lost(page, r.name(of, now))
		return 0, err
	case class == fault.Gone:
		story.skip(page) // The namespace is going.
	case class == fault.UserMustAct:
		// Somebody does not want the event, and nothing that matters depends on it.
		r.log.Info("the API server does not take an event", "reason", of.reason, "object", of.regarding.Name, "error", err.Error())
		story.skip(page)
	default:
		return 0, err
	}
	return forgotten, nil // What was told meanwhile has queued the story again.
}

// due is what may be written of a story now, or else when to look at it again. It
// forgets a story of which nothing more is heard.
func (r *Recorder) due(of key) (*page, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	story, now := r.stories[of], r.clock.Now()
	switch {
	case story == nil:
		return nil, 0
	case story.over(now):
		delete(r.stories, of)
		return nil, 0
	case story.untold == 0:
		return nil, forgotten
	}
	if wait := story.wait(now); wait > 0 {
		return nil, wait
	}
	return story.read(), 0
}

// send creates an event, or tells the API server how often it happened by now.
func (r *Recorder) send(ctx context.Context, p *page) error {
	events := r.events.Events(p.event.Namespace)
	if !p.stored {
		_, err := events.Create(ctx, p.event, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil // It was created, and the answer was lost.
		}
		return err
	}
	patch, err := json.Marshal(map[string]any{"series": p.event.Series})
	if err != nil {
		return err
	}
	_, err = events.Patch(ctx, p.event.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
