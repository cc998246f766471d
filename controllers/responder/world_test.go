package responder_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/test/testenv"
)

// standard are the settings of an operator that knows its own image.
var standard = responder.Options{Image: "quay.io/critical-service/operator:test"}

// world is a test's own namespace, and the operator that looks at it. The test
// does what the controller of Services does: it makes the slices.
type world struct {
	*testenv.World
	// others are further namespaces that the operator sees.
	others []*world

	mu       sync.Mutex
	operator *testenv.Operator
	running  bool
}

// newWorld is a world without an operator yet.
func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return newWorldAlone(t)
}

// newWorldAlone is one beside which no other test runs.
func newWorldAlone(t *testing.T) *world {
	t.Helper()
	w := &world{World: cluster.NewWorld(t)}
	t.Cleanup(func() {
		if operator := w.current(); operator != nil && t.Failed() {
			t.Logf("the operator's log:\n%s", operator.Log(w.Namespace))
		}
		if w.running {
			w.stop()
		}
		for _, one := range append(w.others, w) {
			one.empty()
		}
	})
	return w
}

// beside is a further namespace of the same operator.
func (w *world) beside() *world {
	w.T.Helper()
	other := &world{World: cluster.NewWorld(w.T)}
	w.others = append(w.others, other)
	return other
}

// empty removes what the operator made.
func (w *world) empty() {
	w.DeleteAll(&appsv1.Deployment{}, &corev1.ConfigMap{}, &policyv1.PodDisruptionBudget{}, &autoscalingv2.HorizontalPodAutoscaler{})
}

// start starts an operator that sees the world's namespaces only.
func (w *world) start(options responder.Options, interfere ...func(testenv.Request) testenv.Verdict) {
	w.T.Helper()
	w.startWith(options, func(program *testenv.Program) {
		for _, interfere := range interfere {
			program.Interfere = interfere
		}
	})
}

func (w *world) startWith(options responder.Options, change func(*testenv.Program)) {
	w.T.Helper()
	options.Namespaces = []string{w.Namespace}
	here := map[string]cache.Config{w.Namespace: {}}
	for _, other := range w.others {
		options.Namespaces = append(options.Namespaces, other.Namespace)
		here[other.Namespace] = cache.Config{}
	}
	caches := responder.CacheByObject(options)
	for _, kind := range []client.Object{&corev1.Service{}, &discoveryv1.EndpointSlice{}, &corev1.Pod{}} {
		caches[kind] = cache.ByObject{Namespaces: here}
	}
	program := testenv.Program{
		Cache: cache.Options{ByObject: caches},
		Setup: func(ctx context.Context, mgr ctrl.Manager) error { return responder.Setup(ctx, mgr, options) },
	}
	change(&program)
	operator := w.Cluster.Start(w.T, program)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.operator, w.running = operator, true
}

// current is the operator that runs, or ran last.
func (w *world) current() *testenv.Operator {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.operator
}

func (w *world) stop() {
	w.T.Helper()
	w.current().Stop(w.T)
	w.running = false
}

// policy is an owner of slices. Nothing here looks whether it exists.
func (w *world) policy(name string) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: criticalv2.GroupVersion.String(), Kind: criticalv2.CriticalServiceKind.Kind,
		Name: w.Unique(name), UID: types.UID(w.Unique(name)), Controller: new(true),
	}
}

// critical makes a Service with its standby slice, which asks for a page.
func (w *world) critical(name string, page criticalv2.PageFallback) (*corev1.Service, *discoveryv1.EndpointSlice) {
	w.T.Helper()
	service := w.Service(name)
	return service, w.asking(name, page)
}

// asking makes a standby slice that asks for a page.
func (w *world) asking(service string, page criticalv2.PageFallback) *discoveryv1.EndpointSlice {
	w.T.Helper()
	data, err := json.Marshal(page)
	w.Expect(err).NotTo(HaveOccurred())
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: service + "-standby-ipv4", Namespace: w.Namespace,
			Labels: map[string]string{
				discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: criticalv2.ManagedBy,
				criticalv2.LabelFallbackKind: criticalv2.FallbackKindPage,
			},
			Annotations:     map[string]string{criticalv2.AnnotationPage: string(data)},
			OwnerReferences: []metav1.OwnerReference{w.policy("shop")},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	w.Create(slice)
	return slice
}

// content makes a ConfigMap with content of a team, which agrees to publish it.
func (w *world) content(name, text string) *corev1.ConfigMap {
	w.T.Helper()
	made := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: w.Namespace, Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderContent},
		},
		Data: map[string]string{"index.html": text},
	}
	w.Create(made)
	return made
}

// pod makes a Pod of the responder, as the Deployment's controllers would.
func (w *world) pod(name string) *corev1.Pod {
	w.T.Helper()
	template := w.deployment().Spec.Template
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: w.Namespace, Labels: template.Labels, Annotations: template.Annotations,
		},
		Spec: template.Spec,
	}
	w.Create(pod)
	return pod
}

func (w *world) named(object client.Object) client.Object {
	object.SetNamespace(w.Namespace)
	object.SetName(criticalv2.ResponderName)
	return object
}

// deployment waits for the responder's Deployment.
func (w *world) deployment() *appsv1.Deployment {
	w.T.Helper()
	deployment := &appsv1.Deployment{}
	w.Eventually(func() bool { return w.Exists(w.named(deployment)) }).Should(BeTrue(), "there must be a Deployment")
	return deployment
}

// numbers is the table as texts, "number service/port".
func (w *world) numbers() []string {
	w.T.Helper()
	texts := []string{}
	for _, l := range w.table().Listeners {
		texts = append(texts, fmt.Sprintf("%d %s/%s", l.Port, l.Service, l.PortName))
	}
	return texts
}

// table is the table as it is now; empty if there is none, or none to be read.
func (w *world) table() *listener.Table {
	w.T.Helper()
	configMap := &corev1.ConfigMap{}
	if !w.Exists(w.named(configMap)) {
		return &listener.Table{}
	}
	table, err := listener.Parse([]byte(configMap.Data[listener.Key]))
	if err != nil {
		return &listener.Table{}
	}
	return table
}

// there lists which of the responder's objects exist.
func (w *world) there() []string {
	w.T.Helper()
	kinds := []string{}
	for _, object := range []client.Object{&appsv1.Deployment{}, &corev1.ConfigMap{}, &policyv1.PodDisruptionBudget{}, &autoscalingv2.HorizontalPodAutoscaler{}} {
		if w.Exists(w.named(object)) {
			kinds = append(kinds, reflect.TypeOf(object).Elem().Name())
		}
	}
	return kinds
}

// beComplete matches what is there of a responder that has all it needs. A matcher
// keeps what it found, so that each test has its own.
func beComplete() OmegaMatcher { return ConsistOf("Deployment", "ConfigMap", "PodDisruptionBudget") }

// listens is the range that the Deployment's Pods listen on.
func (w *world) listens() string {
	return w.deployment().Spec.Template.Annotations[criticalv2.AnnotationListeners]
}

// writes lists what the operator wrote, but for events.
func (w *world) writes() []testenv.Request { return writesOf(w.current()) }

func writesOf(operator *testenv.Operator) []testenv.Request {
	return operator.Traffic.Requests(func(r testenv.Request) bool { return r.Writes() && r.Resource() != "events" })
}

// look wakes the operator by a change that means nothing, and waits until it has
// nothing left to do. What holds then, holds on.
func (w *world) look() {
	w.T.Helper()
	before := w.current().Reconciles("responder", "", w.Namespace)
	wake := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "wake-" + rand.String(8), Namespace: w.Namespace, Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderContent},
	}}
	w.Create(wake)
	w.Eventually(func() int { return w.current().Reconciles("responder", "", w.Namespace) }).
		Should(BeNumerically(">", before), "the change must wake the operator")
	w.current().Settled(w.World)
}

// events lists the notes of the events of a reason about an object's name.
func (w *world) events(namespace, name, reason string) []string {
	w.T.Helper()
	var list corev1.EventList
	w.Expect(w.Cluster.Client.List(w.T.Context(), &list, client.InNamespace(namespace))).To(Succeed())
	var notes []string
	for _, event := range list.Items {
		if event.Reason == reason && event.InvolvedObject.Name == name {
			notes = append(notes, event.Type+": "+event.Message)
		}
	}
	return notes
}
