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
	// shutdownTimeout is how long an operator that stops goes on writing what is due.
	shutdownTimeout = time.Second
	// maxNote is the length of a note in bytes by the API conventions.
	maxNote = 1024
)

// Recorder is an events.EventRecorder whose series are up to date.
//
// That of client-go writes the second time of a series at once and the later ones
// after half an hour, and takes events with different notes for the same, so that
// only the first note is ever seen: a user would read "x2" and last week's explanation
// of a Service that has been down twenty times. This one writes the first occurrences
// at once, later ones every few minutes, and another note in another event: AtOnce and
// Every bound how often that is, whatever happens.
type Recorder struct {
	events     typedeventsv1.EventsGetter
	scheme     *runtime.Scheme
	clock      clock.WithTicker
	log        logr.Logger
	controller string
	instance   string
	leads      bool
	queue      workqueue.TypedRateLimitingInterface[key]

	mu     sync.Mutex
	series map[key]*series
	// stamp makes the names of events unique.
	stamp int64
}

// NewRecorder makes a Recorder that runs with the manager, and writes while it leads.
func NewRecorder(mgr manager.Manager, controller string) (*Recorder, error) {
	return addRecorder(mgr, controller, true)
}

// NewRecorderOfEveryReplica makes a Recorder of what every replica does.
func NewRecorderOfEveryReplica(mgr manager.Manager, controller string) (*Recorder, error) {
	return addRecorder(mgr, controller, false)
}

func addRecorder(mgr manager.Manager, controller string, leads bool) (*Recorder, error) {
	events, err := typedeventsv1.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make the client for events: %w", err)
	}
	recorder := newRecorder(events, mgr.GetScheme(), clock.RealClock{}, controller)
	recorder.log, recorder.leads = mgr.GetLogger().WithName("events"), leads
	if err := mgr.Add(recorder); err != nil {
		return nil, fmt.Errorf("run the recorder of events: %w", err)
	}
	return recorder, nil
}

func newRecorder(events typedeventsv1.EventsGetter, scheme *runtime.Scheme, now clock.WithTicker, controller string) *Recorder {
	hostname, _ := os.Hostname() // It is informational only.
	return &Recorder{
		events: events, scheme: scheme, clock: now, log: logr.Discard(),
		controller: controller, instance: controller + "-" + hostname,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			queue.Backoff[key](queue.LastRetry),
			workqueue.TypedRateLimitingQueueConfig[key]{Clock: now},
		),
		series: map[key]*series{},
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
	of := key{kind: kind, reason: reason, action: action, regarding: *about}
	if related != nil {
		if event.Related, err = reference.GetReference(r.scheme, related); err == nil {
			of.related = *event.Related
		}
	}
	r.add(of, event)
	r.queue.Add(of)
}

func (r *Recorder) add(of key, event *eventsv1.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	event.EventTime = metav1.NewMicroTime(now)
	event.Name = r.name(of, now)
	if r.series[of] == nil {
		r.series[of] = newSeries()
	}
	r.series[of].add(event, now)
}

// name is a name that no other event of the object has.
func (r *Recorder) name(of key, now time.Time) string {
	r.stamp = max(r.stamp+1, now.UnixNano())
	return util.GenerateEventName(of.regarding.Name, r.stamp)
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: only a replica that
// leads does what controllers report.
func (r *Recorder) NeedLeaderElection() bool { return r.leads }

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
	defer time.AfterFunc(shutdownTimeout, cancel).Stop()
	group.Wait()
	return nil
}

// next writes what is due of one series; it returns false once the queue is shut down.
func (r *Recorder) next(ctx context.Context) bool {
	of, isShutDown := r.queue.Get()
	if isShutDown {
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

// write writes what is due of a series, and returns when to check it again.
func (r *Recorder) write(ctx context.Context, of key) (time.Duration, error) {
	due, again := r.due(of)
	if due == nil {
		return again, nil
	}
	err := r.send(ctx, due)

	r.mu.Lock()
	defer r.mu.Unlock()
	series, now := r.series[of], r.clock.Now()
	switch class := fault.Of(err); {
	case err == nil:
		series.succeeded(due, now)
	case class == fault.Gone && due.stored:
		series.lost(due, r.name(of, now))
		return 0, err
	case class == fault.Gone:
		series.skip(due) // The namespace is being deleted.
	case class == fault.UserMustAct:
		// A policy of the cluster refuses the event, and nothing that matters depends on it.
		r.log.Info("the API server refuses an event", "reason", of.reason, "object", of.regarding.Name, "error", err.Error())
		series.skip(due)
	default:
		return 0, err
	}
	return forgotten, nil // What happened meanwhile has queued the series again.
}

// due is what may be written of a series now, or else when to check it again. It
// drops a series that is over.
func (r *Recorder) due(of key) (*write, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	series, now := r.series[of], r.clock.Now()
	switch {
	case series == nil:
		return nil, 0
	case series.isOver(now):
		delete(r.series, of)
		return nil, 0
	case series.unwritten == 0:
		return nil, forgotten
	}
	if wait := series.wait(now); wait > 0 {
		return nil, wait
	}
	return series.next(), 0
}

// send creates an event, or updates how often it happened.
func (r *Recorder) send(ctx context.Context, w *write) error {
	events := r.events.Events(w.event.Namespace)
	if !w.stored {
		_, err := events.Create(ctx, w.event, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil // It was created, and the answer was lost.
		}
		return err
	}
	patch, err := json.Marshal(map[string]any{"series": w.event.Series})
	if err != nil {
		return err
	}
	_, err = events.Patch(ctx, w.event.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
