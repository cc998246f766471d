package testenv

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/test/quota"
)

// How long a test waits for what must come. What comes takes milliseconds; the
// rest is for a machine that is busy.
const (
	waitTimeout = 3 * time.Minute
	pollEach    = 40 * time.Millisecond
)

// World is one test's own namespace, and the hands that do there what kubelet,
// endpoint controller and users do.
type World struct {
	*gomega.WithT
	T testing.TB
	// Cluster is where the namespace is.
	Cluster *Cluster
	// Namespace is the test's own, with a name that is unique.
	Namespace string
}

// NewWorld makes a namespace, and empties it when the test ends: a namespace
// cannot be deleted where no controller does it.
func (c *Cluster) NewWorld(t testing.TB) *World {
	t.Helper()
	g := gomega.NewWithT(t)
	g.SetDefaultEventuallyTimeout(waitTimeout)
	g.SetDefaultEventuallyPollingInterval(pollEach)
	w := &World{WithT: g, T: t, Cluster: c, Namespace: newNamespace()}
	w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}})
	t.Cleanup(func() { w.DeleteAll(&corev1.Service{}, &discoveryv1.EndpointSlice{}, &corev1.Pod{}) })
	return w
}

// newNamespace is a unique name, and of those one whose responder listens from the
// first port on, so that tests can name the numbers.
func newNamespace() string {
	for {
		if name := "test-" + rand.String(8); listener.Home(name) == 0 {
			return name
		}
	}
}

// Create creates an object, in the world's namespace unless it says another.
func (w *World) Create(object client.Object) {
	w.T.Helper()
	if object.GetNamespace() == "" && w.namespaced(object) {
		object.SetNamespace(w.Namespace)
	}
	w.Expect(w.Cluster.Client.Create(w.T.Context(), object)).To(gomega.Succeed())
}

func (w *World) namespaced(object client.Object) bool {
	w.T.Helper()
	namespaced, err := w.Cluster.Client.IsObjectNamespaced(object)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return namespaced
}

// Update changes an object as it is now; others may change it meanwhile.
func Update[T client.Object](w *World, object T, change func(T)) {
	w.T.Helper()
	w.Eventually(func() error {
		if err := w.Cluster.Client.Get(w.T.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change(object)
		return w.Cluster.Client.Update(w.T.Context(), object)
	}).Should(gomega.Succeed())
}

// Delete deletes an object at once.
func (w *World) Delete(object client.Object) {
	w.T.Helper()
	w.Expect(w.Cluster.Client.Delete(w.T.Context(), object, client.GracePeriodSeconds(0))).To(gomega.Succeed())
}

// DeleteAll deletes all objects of some kinds in the world's namespace at once, also when the test has ended.
func (w *World) DeleteAll(kinds ...client.Object) {
	w.T.Helper()
	ctx := context.WithoutCancel(w.T.Context())
	for _, kind := range kinds {
		// Hundreds of them may take an API server longer than a request may take.
		w.Eventually(func() error {
			return client.IgnoreNotFound(w.Cluster.Client.DeleteAllOf(ctx, kind, client.InNamespace(w.Namespace), client.GracePeriodSeconds(0)))
		}).Should(gomega.Succeed())
	}
}

// Exists reports whether an object of this name exists, and reads it.
func (w *World) Exists(object client.Object) bool {
	w.T.Helper()
	err := w.Cluster.Client.Get(w.T.Context(), client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		return false
	}
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return true
}

// WritesNothing wants an operator to write nothing when something wakes it, which returns what it wrote: at the second time at
// the latest, because an event of what was written before may come late.
func (w *World) WritesNothing(when func() []Request) {
	w.T.Helper()
	if len(when()) > 0 {
		w.Expect(when()).To(gomega.BeEmpty(), "what is as it is to be is not written")
	}
}

// Forbid makes the API server deny new objects of a resource in the world's namespace, and returns the quota that does.
// It writes the quota's status, by which the API server counts, as no quota controller runs.
func (w *World) Forbid(resource corev1.ResourceName) *corev1.ResourceQuota {
	w.T.Helper()
	none := quota.New(w.Namespace, "none", resource, 0)
	w.Create(none)
	none.Status = corev1.ResourceQuotaStatus{Hard: none.Spec.Hard, Used: none.Spec.Hard}
	w.Expect(w.Cluster.Client.Status().Update(w.T.Context(), none)).To(gomega.Succeed())
	w.Eventually(quota.InForce).WithArguments(w.T.Context(), w.Cluster.Client, none).Should(gomega.Succeed())
	return none
}

// Service makes a Service with one port, 80 to 8080, that selects app=<name>.
func (w *World) Service(name string, changes ...func(*corev1.Service)) *corev1.Service {
	w.T.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Namespace},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": name},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: TargetPort}},
		},
	}
	for _, change := range changes {
		change(service)
	}
	w.Create(service)
	return service
}

// Slice makes one more EndpointSlice of a Service, as the endpoint controller
// would, with endpoints that a test chooses.
func (w *World) Slice(service *corev1.Service, suffix string, changes ...func(*discoveryv1.EndpointSlice)) *discoveryv1.EndpointSlice {
	w.T.Helper()
	slice := newSlice(service, 0)
	slice.Name = service.Name + "-" + suffix
	slice.Ports = []discoveryv1.EndpointPort{{Name: new("http"), Port: new(TargetPort.IntVal), Protocol: new(corev1.ProtocolTCP)}}
	for _, change := range changes {
		change(slice)
	}
	w.Create(slice)
	return slice
}

// Events lists the events about an object that have a reason.
func (w *World) Events(about client.Object, reason string) []corev1.Event {
	w.T.Helper()
	namespace := about.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	var list corev1.EventList
	w.Expect(w.Cluster.Client.List(w.T.Context(), &list, client.InNamespace(namespace))).To(gomega.Succeed())
	var events []corev1.Event
	for _, event := range list.Items {
		if event.Reason == reason && event.InvolvedObject.Name == about.GetName() && event.InvolvedObject.UID == about.GetUID() {
			events = append(events, event)
		}
	}
	return events
}

// EventsOf is Events for Eventually: events are written in the background, and so
// follow what they tell of.
func (w *World) EventsOf(about client.Object, reason string) func() []corev1.Event {
	return func() []corev1.Event { return w.Events(about, reason) }
}

// Unique is a name that no other test uses, for objects that have no namespace.
// Names made of prefixes in order are in order.
func (w *World) Unique(prefix string) string {
	return prefix + "-" + w.Namespace
}

// EachAtOnce does the same for many, a few at a time.
func (w *World) EachAtOnce(many int, do func(i int)) {
	w.T.Helper()
	next := make(chan int, many)
	for i := range many {
		next <- i
	}
	close(next)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	wait.Wait()
	w.Expect(next).To(gomega.BeEmpty(), "one of them failed")
}
