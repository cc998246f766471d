package cause

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/internal/diagnosis"
)

// Diagnoses are the outages whose cause is looked for: one for each Service in
// outage. They are memory only, because each look begins anew: what was found
// stands in the status.
type Diagnoses struct {
	// after is how long after the beginning of an outage its cause is looked for
	// first, so that this is never in the way of a failover; 0 is never.
	after  time.Duration
	causes *memory.Answers[criticalv2.OutageCause]

	mu   sync.Mutex
	open map[types.NamespacedName]*search
	// queue is that of the controller that looks; nil before it runs.
	queue wake.Queue
}

// search is the search for the cause of one outage.
type search struct {
	// looks is how often was looked; next is when the next time is.
	looks int
	next  time.Time
	// told are the reasons of which an event told; nil before anything was found.
	told map[string]bool
	// found is the last diagnosis; nil before the first look.
	found *diagnosis.Diagnosis
}

// NewDiagnoses looks for causes after a time, and keeps them.
func NewDiagnoses(after time.Duration, causes *memory.Answers[criticalv2.OutageCause]) *Diagnoses {
	return &Diagnoses{
		after: after, causes: causes, open: map[types.NamespacedName]*search{},
	}
}

// Follow begins a search when an outage begins, and ends it with the outage. It
// never waits, however many begin at once.
func (i *Diagnoses) Follow(key types.NamespacedName, service *corev1.Service, plan decide.Plan) {
	if i.after <= 0 {
		return
	}
	if service == nil || !inOutage(plan) {
		i.end(key)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.open[key] == nil {
		i.open[key] = &search{}
		i.wake(key)
	}
}

// wake lets a Service be looked at after a moment.
func (i *Diagnoses) wake(key types.NamespacedName) {
	if i.queue != nil {
		i.queue.AddAfter(reconcile.Request{NamespacedName: key}, i.after)
	}
}

// listen takes the queue of the controller that looks. It is a source.Func.
func (i *Diagnoses) listen(_ context.Context, q wake.Queue) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.queue = q
	for key := range i.open {
		i.wake(key)
	}
	return nil
}

func (i *Diagnoses) end(key types.NamespacedName) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.open, key)
	i.causes.Forget(key)
}

// of is the search for the outage of a Service; nil if there is none.
func (i *Diagnoses) of(key types.NamespacedName) *search {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.open[key]
}

// settle keeps what was found, unless the outage has ended meanwhile, and reports whether
// it differs from what was found before. What a program wrote is no difference: it may
// be another text each time.
func (i *Diagnoses) settle(key types.NamespacedName, of *search, found diagnosis.Diagnosis) (current, changed bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.open[key] != of {
		return false, false
	}
	if of.found != nil && of.found.Same(found) {
		return true, false
	}
	of.found = &found
	i.causes.Set(key, found.OutageCause)
	return true, true
}

// distances are those between two looks of one search; the last one stays.
var distances = []time.Duration{2 * time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute}

// looked counts a look, and says how far the next one is.
func (i *search) looked(now time.Time) time.Duration {
	distance := distances[min(i.looks, len(distances)-1)]
	i.looks++
	i.next = now.Add(distance)
	return distance
}

// inOutage tells whether a Service has no ready endpoint of its own.
func inOutage(plan decide.Plan) bool {
	return plan.State == criticalv2.StateExposed || plan.State == criticalv2.StateCovered
}
