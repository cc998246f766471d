package ingress_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
	"github.com/critical-service/operator/workloads/controllers/ingress"
)

// world is a test's own namespace, and the operator that watches it.
type world struct {
	*testenv.World
	operator *testenv.Operator

	mu     sync.Mutex
	writes []testenv.Request
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return alone(t)
}

// alone is a world whose test does not run beside others.
func alone(t *testing.T) *world {
	t.Helper()
	w := &world{World: cluster.NewWorld(t)}
	t.Cleanup(func() {
		if w.operator == nil {
			return
		}
		if t.Failed() {
			t.Logf("the operator's log:\n%s", w.operator.Log(w.Namespace))
		}
		w.operator.Stop(t)
	})
	return w
}

// start starts an operator with settings, that sees the world's namespace only.
func (w *world) start(options ingress.Options, interfere ...func(testenv.Request) testenv.Verdict) {
	w.T.Helper()
	w.startWith(options, func(program *testenv.Program) {
		program.Interfere = func(r testenv.Request) testenv.Verdict {
			if r.Method == http.MethodPatch && r.Resource() == "ingresses" {
				w.mu.Lock()
				w.writes = append(w.writes, r)
				w.mu.Unlock()
				for _, interfere := range interfere {
					return interfere(r)
				}
			}
			return testenv.Pass
		}
	})
}

func (w *world) startWith(options ingress.Options, change func(*testenv.Program)) {
	w.T.Helper()
	if w.operator != nil {
		w.operator.Stop(w.T)
	}
	options.Namespaces, options.Permitted = []string{w.Namespace}, true
	program := testenv.Program{
		Cache: cache.Options{ByObject: ingress.CacheByObject(options)},
		Setup: func(ctx context.Context, mgr ctrl.Manager) error { return ingress.Setup(ctx, mgr, options) },
	}
	change(&program)
	w.operator = w.Cluster.Start(w.T, program)
}

// written counts the writes of Ingresses.
func (w *world) written() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.writes)
}

// writesOf counts the writes of each Ingress.
func (w *world) writesOf() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := map[string]int{}
	for i := range w.writes {
		counts[w.writes[i].Path]++
	}
	return counts
}

// annotated counts the Ingresses that have any annotation.
func (w *world) annotated() int {
	var all networkingv1.IngressList
	w.Expect(w.Cluster.Client.List(w.T.Context(), &all, client.InNamespace(w.Namespace))).To(Succeed())
	return len(slices.DeleteFunc(all.Items, func(one networkingv1.Ingress) bool { return len(one.Annotations) == 0 }))
}

// ingress makes an Ingress that routes to Services.
func (w *world) ingress(name string, annotations map[string]string, services ...string) *networkingv1.Ingress {
	w.T.Helper()
	made := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
	rule := networkingv1.IngressRule{IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{}}}
	for _, service := range services {
		rule.HTTP.Paths = append(rule.HTTP.Paths, networkingv1.HTTPIngressPath{
			Path: "/" + service, PathType: new(networkingv1.PathTypePrefix), Backend: backend(service),
		})
	}
	made.Spec.Rules = []networkingv1.IngressRule{rule}
	w.Create(made)
	return made
}

func backend(service string) networkingv1.IngressBackend {
	return networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: service, Port: networkingv1.ServiceBackendPort{Number: 80}}}
}

// annotations are those of an Ingress as it is now.
func (w *world) annotations(of *networkingv1.Ingress) func() map[string]string {
	return func() map[string]string {
		var now networkingv1.Ingress
		w.Expect(w.Cluster.Client.Get(w.T.Context(), client.ObjectKeyFromObject(of), &now)).To(Succeed())
		return now.Annotations
	}
}

// annotate does what `kubectl annotate --overwrite` does; an empty value takes the key off.
func (w *world) annotate(of *networkingv1.Ingress, key, value string) {
	w.T.Helper()
	text := `"` + value + `"`
	if value == "" {
		text = "null"
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+key+`":`+text+`}}}`))
	w.Expect(w.Cluster.Client.Patch(w.T.Context(), of.DeepCopy(), patch, client.FieldOwner("kubectl-annotate"))).To(Succeed())
}

// standby makes the slice by which the core protects a Service.
func (w *world) standby(service string) *discoveryv1.EndpointSlice {
	w.T.Helper()
	made := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: service + "-standby", Labels: map[string]string{
			discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: criticalv2.ManagedBy,
		}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}, Conditions: standing(false)}},
	}
	w.Create(made)
	return made
}

func standing(promoted bool) discoveryv1.EndpointConditions {
	return discoveryv1.EndpointConditions{Ready: new(promoted), Serving: new(true), Terminating: new(!promoted)}
}

// promote does what the core does in an outage, or at its end.
func (w *world) promote(slice *discoveryv1.EndpointSlice, promoted bool) {
	w.T.Helper()
	before := slice.DeepCopy()
	slice.Endpoints[0].Conditions = standing(promoted)
	w.Expect(w.Cluster.Client.Patch(w.T.Context(), slice, client.MergeFrom(before))).To(Succeed())
}
