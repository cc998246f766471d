package testenv

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/critical-service/operator/internal/controller/read"
)

// startWithin and stopWithin are far more than an operator needs to fill its caches, and to stop.
const startWithin, stopWithin = 2 * time.Minute, 2 * time.Minute

// Program is what a test package runs: production's own pieces.
type Program struct {
	// Cache narrows the caches.
	Cache cache.Options
	// Setup adds the controllers.
	Setup func(ctx context.Context, mgr ctrl.Manager) error
	// Interfere is asked about every request before it is sent; nil lets all pass.
	Interfere func(Request) Verdict

	view    *View
	history *history
}

// Operator is a running Program.
type Operator struct {
	// Traffic is what it asked of the API server.
	Traffic *Traffic

	log    *journal
	cancel context.CancelFunc
	ended  chan error
}

// Start runs a program under the operator's permissions, until Stop.
func (c *Cluster) Start(t testing.TB, program Program) *Operator {
	t.Helper()
	operator := &Operator{Traffic: &Traffic{interfere: program.Interfere, history: program.history}, log: &journal{}, ended: make(chan error, 1)}
	user := rest.CopyConfig(c.operator)
	user.Wrap(program.view.through)
	user.Wrap(operator.Traffic.Through)
	mgr, err := ctrl.NewManager(user, ctrl.Options{
		Scheme:                  c.scheme,
		Cache:                   program.Cache,
		NewCache:                read.NewCache,
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		Logger:                  operator.log.logger(),
		GracefulShutdownTimeout: new(stopWithin / 2),
		// One process runs many operators, one after the other.
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		t.Fatalf("make the manager: %v", err)
	}
	var ctx context.Context
	ctx, operator.cancel = context.WithCancel(context.WithoutCancel(t.Context()))
	if err := program.Setup(ctx, mgr); err != nil {
		t.Fatalf("set up the controllers: %v", err)
	}
	go func() { operator.ended <- mgr.Start(ctx) }()

	synced, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if !mgr.GetCache().WaitForCacheSync(synced) {
		operator.Stop(t)
		t.Fatalf("the caches did not fill; the operator's log:\n%s", operator.Log(""))
	}
	return operator
}

// Stop ends the operator, and returns when nothing of it runs any more.
func (o *Operator) Stop(t testing.TB) {
	t.Helper()
	o.cancel()
	select {
	case err := <-o.ended:
		if err != nil {
			t.Errorf("the operator ended with an error: %v", err)
		}
	case <-time.After(stopWithin):
		t.Errorf("the operator did not stop within %s; its log:\n%s", stopWithin, o.Log(""))
	}
}

// Log is what the operator logged, only the lines that hold a text.
func (o *Operator) Log(about string) string { return o.log.text(about) }

// Reconciles counts how often a controller has come to the end of a reconcile.
func (o *Operator) Reconciles(controller, namespace, name string) int {
	return len(o.log.holding(`"msg"="Reconcile`, fmt.Sprintf(`"controller"=%q`, controller),
		fmt.Sprintf(`"namespace"=%q "name"=%q`, namespace, name)))
}

// Idle is how long the operator has logged nothing about something. It logs every reconcile, of which only those of self-tests
// do not count: they are repeated for ever, and what comes of one is the status controller's to report.
func (o *Operator) Idle(about string) time.Duration {
	entries := slices.DeleteFunc(o.log.holding(about), func(e entry) bool { return strings.Contains(e.text, `"controller"="self-test"`) })
	if len(entries) == 0 {
		return 0
	}
	return time.Since(entries[len(entries)-1].at)
}

// An operator that has nothing left to do logs nothing for as long, in which the API server has answered as often: where an
// answer takes long, so does news.
const (
	quietFor     = 1500 * time.Millisecond // Longer than what waits for a cache that is behind.
	quietAnswers = 25
)

// Settled is the operator, when it has nothing left to do in a world.
func (o *Operator) Settled(w *World) *Operator {
	w.T.Helper()
	var answers int
	var before time.Duration
	w.Eventually(func() (bool, error) {
		idle := o.Idle(w.Namespace)
		if idle < before {
			answers = 0
		}
		before = idle
		answers++
		err := w.Cluster.Client.Get(w.T.Context(), client.ObjectKey{Name: w.Namespace}, &corev1.Namespace{})
		return idle > quietFor && answers > quietAnswers, client.IgnoreNotFound(err) // It may have been deleted.
	}).Should(gomega.BeTrue(), "it logs on")
	return o
}

// IsDue reports whether a controller has put off its last work on any of the objects that are about something.
func (o *Operator) IsDue(controller, about string) bool {
	due := map[string]bool{}
	for _, entry := range o.log.holding(`"msg"="Reconcile`, fmt.Sprintf(`"controller"=%q`, controller), about) {
		if name := nameIn.FindString(entry.text); strings.Contains(entry.text, "requeueing") {
			due[name] = true
		} else {
			delete(due, name)
		}
	}
	return len(due) > 0
}

// nameIn finds the name of an object in a line of a log.
var nameIn = regexp.MustCompile(`"name"="[^"]*"`)
