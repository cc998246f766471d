//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
)

// fallbackName is what the fallback Pods of all scenarios answer with.
const fallbackName = "fallback"

// labels is short for what scenarios are full of.
type labels = map[string]string

// world is the namespace of one scenario, and everything in it goes when the scenario ends.
type world struct {
	*cluster.Cluster
	*WithT
	t         *testing.T
	ctx       context.Context
	namespace string
	began     time.Time
}

// newWorld makes a namespace for the scenario.
func newWorld(t *testing.T, namespaceLabels ...labels) *world {
	t.Helper()
	name := strings.ToLower(strings.TrimPrefix(t.Name(), "Test"))
	name = strings.NewReplacer("/", "-", "_", "-").Replace(name)
	w := worldIn(t, "e2e-"+name[:min(len(name), 40)]+"-"+utilrand.String(5))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	for _, set := range namespaceLabels {
		namespace.Labels = set
	}
	w.create(namespace)
	w.reportFailure()
	// Until Kubernetes has made this account, it denies every Pod of the namespace.
	account := client.ObjectKey{Namespace: w.namespace, Name: "default"}
	w.Eventually(func() error { return w.Get(w.ctx, account, &corev1.ServiceAccount{}) }).Should(Succeed())
	return w
}

// worldIn is a scenario in a namespace that exists.
func worldIn(t *testing.T, namespace string) *world {
	return &world{
		Cluster: shared, WithT: NewWithT(t), t: t, ctx: context.WithoutCancel(t.Context()),
		namespace: namespace, began: time.Now(),
	}
}

// create creates an object, and deletes it when the scenario ends.
func (w *world) create(object client.Object) {
	w.t.Helper()
	w.Expect(w.Create(w.ctx, object)).To(Succeed())
	w.t.Cleanup(func() { w.remove(object) })
}

// remove deletes an object. A CriticalService of version 1 goes as kubectl deletes it, by the version
// that the API server prefers: version 1 itself cannot be reached while the operator is down.
func (w *world) remove(object client.Object) {
	w.t.Helper()
	if policy, old := object.(*criticalv1.CriticalService); old {
		object = &criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: policy.Name}}
	}
	w.Expect(client.IgnoreNotFound(w.Delete(w.ctx, object))).To(Succeed())
}

// refresh reads an object again.
func (w *world) refresh(object client.Object) {
	w.t.Helper()
	w.Expect(w.Get(w.ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
}

// change edits an object that exists.
func change[T client.Object](w *world, object T, edit func(T)) {
	w.t.Helper()
	w.refresh(object)
	before, _ := object.DeepCopyObject().(T)
	edit(object)
	w.Expect(w.Patch(w.ctx, object, client.MergeFrom(before))).To(Succeed())
}

// apply applies a file of testdata as a user would, and deletes its objects when the scenario ends.
func (w *world) apply(file string) {
	w.t.Helper()
	objects, err := readObjects(file)
	w.Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		if namespaced, err := w.IsObjectNamespaced(object); err == nil && namespaced && object.GetNamespace() == "" {
			object.SetNamespace(w.namespace)
		}
		w.Expect(w.Apply(w.ctx, fieldManager, object)).To(Succeed())
		w.t.Cleanup(func() { w.remove(object) })
	}
}

func readObjects(file string) ([]*unstructured.Unstructured, error) {
	content, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		return nil, err
	}
	return cluster.Decode(bytes.ReplaceAll(content, []byte("quay.io/critical-service/demo:dev"), []byte(demoImage)))
}

// policy makes a CriticalService of version 1 for the Services with these labels; namespace may be
// empty. Its fallback is a Pod made on demand.
func (w *world) policy(name, namespace string, match labels) *criticalv1.CriticalService {
	w.t.Helper()
	policy := &criticalv1.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       criticalv1.CriticalServiceSpec{Namespace: namespace},
	}
	for key, value := range match {
		policy.Spec.MatchLabels = append(policy.Spec.MatchLabels, criticalv1.LabelMatch{Key: key, Value: value})
	}
	w.create(policy)
	return policy
}

// pod makes a Pod that answers with its own name, unless the arguments say otherwise.
func (w *world) pod(name string, set labels, args ...string) *corev1.Pod {
	w.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: set}, Spec: webPod(name, args...)}
	w.create(pod)
	return pod
}

// deployment makes a Deployment of one Pod, labelled app=name, that answers with that name.
func (w *world) deployment(name string, args ...string) *appsv1.Deployment {
	w.t.Helper()
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: labels{"app": name}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels{"app": name}},
				Spec:       webPod(name, args...),
			},
		},
	}
	w.create(deployment)
	return deployment
}

// scale sets the number of Pods of a Deployment, ReplicaSet or StatefulSet.
func (w *world) scale(object client.Object, replicas int32) {
	w.t.Helper()
	w.Expect(w.Scale(w.ctx, object, replicas)).To(Succeed())
}

// webPod is the Pod of an application, or of a fallback.
func webPod(name string, args ...string) corev1.PodSpec {
	return cluster.WebPod(demoImage, name, append([]string{"--drain=2s"}, args...)...)
}

// warnings are the Warning events with a reason about an object.
func (w *world) warnings(kind, name, reason string) func(g Gomega) []string {
	return func(g Gomega) []string {
		var found []string
		for _, event := range w.events(g) {
			object := event.InvolvedObject
			if event.Type != corev1.EventTypeWarning || object.Kind != kind || object.Name != name || event.Reason != reason {
				continue
			}
			count := max(event.Count, 1)
			if event.Series != nil {
				count = event.Series.Count
			}
			for range count {
				found = append(found, event.Message)
			}
		}
		return found
	}
}

// events are those of the scenario's namespace, and those about objects without one.
func (w *world) events(g Gomega) []corev1.Event {
	found, err := w.Events(w.ctx, w.namespace)
	g.Expect(err).NotTo(HaveOccurred())
	return found
}

// name makes a name that no other scenario has, for objects without a namespace.
func (w *world) name(suffix string) string { return fmt.Sprintf("%s-%s", w.namespace, suffix) }
