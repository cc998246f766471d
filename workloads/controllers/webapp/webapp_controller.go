package webapp

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/scale"
)

// Reconciler runs one WebApp per key.
type Reconciler struct {
	observer
	events.Emitter
	client client.Client
}

// Reconcile observes the WebApp, decides what it needs, and does that.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	snap, err := r.observe(ctx, req.NamespacedName)
	if err != nil || snap.WebApp == nil {
		if snap.WebApp == nil {
			r.traffic.Forget(req.NamespacedName)
			r.past.keep(req.NamespacedName, "", scale.Memory{})
		}
		return fault.Result(err)
	}
	plan := decide.Decide(snap)
	r.follow(&snap, &plan)
	done, err := r.apply(ctx, &snap, &plan)
	r.did(ctx, &snap, &plan, &done)
	if done.tell(&snap) {
		plan = decide.Decide(snap)
	}
	if err == nil {
		err = r.record(ctx, &snap, &plan)
	}
	if err != nil {
		return fault.Result(err)
	}
	r.report(ctx, &snap, &plan)
	return ctrl.Result{RequeueAfter: plan.RecheckAfter}, nil
}

// past is what matters of the traffic of the last minutes, by WebApp. A process that starts has
// none.
type past struct {
	mu  sync.Mutex
	all map[types.NamespacedName]remembered
}

type remembered struct {
	uid    types.UID
	memory scale.Memory
}

// of is the past of a WebApp; another of the name has none.
func (p *past) of(key types.NamespacedName, uid types.UID) scale.Memory {
	p.mu.Lock()
	defer p.mu.Unlock()
	if found := p.all[key]; found.uid == uid {
		return found.memory
	}
	return scale.Memory{}
}

// keep keeps the past of a WebApp; that of none is dropped.
func (p *past) keep(key types.NamespacedName, uid types.UID, memory scale.Memory) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if uid == "" {
		delete(p.all, key)
		return
	}
	p.all[key] = remembered{uid, memory}
}
