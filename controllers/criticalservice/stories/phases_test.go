package stories_test

import (
	"context"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers"
	"github.com/critical-service/operator/controllers/criticalservice"
	"github.com/critical-service/operator/controllers/monitoring"
	"github.com/critical-service/operator/test/testenv"
)

// A test runs in one of three ways:
//
//	alone       by itself; its operators may look at everything, as in production
//	sideBySide  beside others, all under one shared operator that looks at everything
//	apart       beside others, under operators of its own that see this test only
//
// Tests of the second and of the third kind would disturb each other, so that
// they take turns.

// alone is a world without an operator yet.
func alone(t *testing.T) *world {
	t.Helper()
	w := &world{World: cluster.NewWorld(t)}
	w.tellOnFailure()
	t.Cleanup(func() {
		if w.running {
			w.stop()
		}
	})
	return w
}

// apart is a world without an operator yet, to be started with confined.
func apart(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	turns.take(t, "apart")
	return alone(t)
}

// sideBySide is a world under the shared operator.
func sideBySide(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	turns.take(t, "side by side")
	w := &world{World: cluster.NewWorld(t), operator: sharedOperator(t), running: true}
	w.tellOnFailure()
	return w
}

// program is the operator as production puts it together.
func program(options criticalservice.Options) testenv.Program {
	all := controllers.Options{CriticalService: options, Monitoring: monitoring.Options{Off: true, Namespace: testenv.OperatorNamespace, NoTenants: options.NoTenants}}
	return testenv.Program{
		Cache: controllers.CacheOptions(all),
		Setup: func(ctx context.Context, mgr ctrl.Manager) error { return controllers.Setup(ctx, mgr, all) },
	}
}

// confined is an operator that sees the world's namespaces and policies only.
func (w *world) confined(options criticalservice.Options) testenv.Program {
	options.Namespaces = append([]string{w.Namespace}, w.others...)
	confined := program(options)
	for object, by := range confined.Cache.ByObject {
		if _, isPolicy := object.(*criticalv2.CriticalService); isPolicy {
			by.Label = labels.SelectorFromSet(labels.Set{labelWorld: w.Namespace})
			confined.Cache.ByObject[object] = by
		}
	}
	return confined
}

// shared is the one standard operator of all the tests that run side by side. It
// runs while there is such a test.
var shared struct {
	sync.Mutex
	users    int
	operator *testenv.Operator
}

func sharedOperator(t *testing.T) *testenv.Operator {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.users == 0 {
		shared.operator = cluster.Start(t, program(standard))
	}
	shared.users++
	t.Cleanup(func() {
		shared.Lock()
		defer shared.Unlock()
		shared.users--
		if shared.users == 0 {
			shared.operator.Stop(t)
		}
	})
	return shared.operator
}

// turns lets tests of one kind run at a time, and not too many. Those that wait for their turn have begun, so that -parallel,
// which counts them, is no bound.
var turns = newTurnstile()

type turnstile struct {
	changed *sync.Cond
	kind    string
	inside  int
}

func newTurnstile() *turnstile { return &turnstile{changed: sync.NewCond(&sync.Mutex{})} }

// take waits until no test of another kind runs, and few of this one.
func (s *turnstile) take(t *testing.T, kind string) {
	t.Helper()
	s.changed.L.Lock()
	defer s.changed.L.Unlock()
	for s.inside == testenv.AtOnce || s.inside > 0 && s.kind != kind {
		s.changed.Wait()
	}
	s.kind = kind
	s.inside++
	t.Cleanup(func() {
		s.changed.L.Lock()
		defer s.changed.L.Unlock()
		s.inside--
		s.changed.Broadcast()
	})
}
