//go:build e2e

package soak

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/cluster"
)

// spare is the Service that backs another one up. No fault happens to it.
const spare = "spare"

// labels is short for what the world is full of.
type labels = map[string]string

// world is the namespace of the run, with all that is in it.
type world struct {
	*cluster.Cluster
	*WithT
	t         *testing.T
	ctx       context.Context
	namespace string
	began     time.Time
}

// newWorld makes the namespace, an application and a Service for each protection, and what the protections name.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		Cluster: shared, WithT: NewWithT(t), t: t, ctx: context.WithoutCancel(t.Context()),
		namespace: "soak-" + utilrand.String(5), began: time.Now(),
	}
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
	// Until Kubernetes has made this account, it denies every Pod of the namespace.
	account := client.ObjectKey{Namespace: w.namespace, Name: "default"}
	w.Eventually(func() error { return w.Get(w.ctx, account, &corev1.ServiceAccount{}) }).Should(Succeed())
	w.create(w.podTemplate())
	for _, name := range append(serviceNames(), spare) {
		w.create(w.deployment(name))
		w.create(w.service(name))
	}
	for _, protection := range protections {
		w.create(protection.policy(w.namespace))
	}
	return w
}

// create creates an object, and deletes it when the run ends.
func (w *world) create(object client.Object) {
	w.t.Helper()
	w.Expect(w.Create(w.ctx, object)).To(Succeed())
	w.t.Cleanup(func() { w.Expect(client.IgnoreNotFound(w.Delete(w.ctx, object))).To(Succeed()) })
}

// meta is that of an object of the world.
func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

func (w *world) service(name string) *corev1.Service {
	service := &corev1.Service{ObjectMeta: w.meta(name), Spec: corev1.ServiceSpec{
		Selector: labels{"app": name}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
	}}
	service.Labels = labels{"critical": name}
	return service
}

// deployment is an application of one Pod: to lose it is an outage.
func (w *world) deployment(name string) *appsv1.Deployment {
	// On SIGTERM, it reports not ready and answers for long enough that all proxies follow.
	pod := cluster.WebPod(demoImage, name, "--drain=6s")
	pod.TerminationGracePeriodSeconds = new(int64(15))
	return &appsv1.Deployment{ObjectMeta: w.meta(name), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(1)),
		Selector: &metav1.LabelSelector{MatchLabels: labels{"app": name}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels{"app": name}}, Spec: pod},
	}}
}

func (w *world) podTemplate() *corev1.PodTemplate {
	pod := cluster.WebPod(demoImage, standIn, "--status=503", "--close")
	return &corev1.PodTemplate{ObjectMeta: w.meta(standIn), Template: corev1.PodTemplateSpec{Spec: pod}}
}

// make creates an object, also when an earlier try that failed has created it. While an object of that name is on its
// way out, it is an error.
func (w *world) make(object client.Object) error {
	err := w.Create(w.ctx, object)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := w.Get(w.ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	if object.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%T %s of before is still there", object, object.GetName())
	}
	return nil
}

// remove deletes some objects, also when an earlier try that failed has deleted them.
func (w *world) remove(objects ...client.Object) error {
	var problems []error
	for _, object := range objects {
		problems = append(problems, client.IgnoreNotFound(w.Delete(w.ctx, object)))
	}
	return errors.Join(problems...)
}

// merge changes an object by a merge patch.
func (w *world) merge(object client.Object, patch string, values ...any) error {
	return w.Patch(w.ctx, object, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, patch, values...)))
}
