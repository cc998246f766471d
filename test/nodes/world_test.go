//go:build e2e

package nodes

import (
	"context"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
)

// The page is known by its sentence.
const (
	thePage  = "page"
	sentence = "We are back soon."
)

// labels is short for what the world is full of.
type labels = map[string]string

// world is the namespace of one scenario, and everything in it goes when the scenario ends.
type world struct {
	*cluster.Cluster
	*WithT
	t         *testing.T
	ctx       context.Context
	namespace string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		Cluster: shared, WithT: NewWithT(t), t: t, ctx: context.WithoutCancel(t.Context()), namespace: "nodes-" + utilrand.String(5),
	}
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
	// Until Kubernetes has made this account, it denies every Pod of the namespace.
	account := client.ObjectKey{Namespace: w.namespace, Name: "default"}
	w.Eventually(func() error { return w.Get(w.ctx, account, &corev1.ServiceAccount{}) }).Should(Succeed())
	return w
}

// create creates an object, and deletes it when the scenario ends.
func (w *world) create(object client.Object) {
	w.t.Helper()
	w.Expect(w.Create(w.ctx, object)).To(Succeed())
	w.t.Cleanup(func() { w.Expect(client.IgnoreNotFound(w.Delete(w.ctx, object))).To(Succeed()) })
}

func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: labels{"critical": "yes"}}
}

// application makes a Deployment whose Pods answer with its name, on a node if one is named, and waits for it.
func (w *world) application(name string, replicas int32, onNode string) *appsv1.Deployment {
	w.t.Helper()
	// On SIGTERM, it reports not ready and answers for long enough that all proxies follow.
	pod := cluster.WebPod(demoImage, name, "--drain=6s")
	pod.TerminationGracePeriodSeconds, pod.NodeName = new(int64(15)), onNode
	deployment := &appsv1.Deployment{ObjectMeta: w.meta(name), Spec: appsv1.DeploymentSpec{
		Replicas: new(replicas),
		Selector: &metav1.LabelSelector{MatchLabels: labels{"app": name}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels{"app": name}}, Spec: pod},
	}}
	w.create(deployment)
	if replicas > 0 {
		w.Expect(w.AwaitDeployment(w.ctx, client.ObjectKeyFromObject(deployment), soon)).To(Succeed())
	}
	return deployment
}

// service makes a Service for the application of its name.
func (w *world) service(name string, edits ...func(*corev1.Service)) *corev1.Service {
	w.t.Helper()
	service := &corev1.Service{ObjectMeta: w.meta(name), Spec: corev1.ServiceSpec{
		Selector: labels{"app": name}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
	}}
	for _, edit := range edits {
		edit(service)
	}
	w.create(service)
	return service
}

// protect protects all Services of the world by a page of two Pods, and waits until both are ready.
func (w *world) protect() *criticalv2.ServiceFallback {
	w.t.Helper()
	policy := &criticalv2.ServiceFallback{ObjectMeta: w.meta("page"), Spec: criticalv2.ServiceFallbackSpec{
		ServiceSelector: &metav1.LabelSelector{MatchLabels: labels{"critical": "yes"}},
		ProtectionSpec: criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{
			Page: &criticalv2.PageFallback{Message: sentence, Replicas: new(int32(2))},
		}},
	}}
	w.create(policy)
	w.awaitResponders()
	return policy
}

// awaitResponders waits until two Pods of the responder are ready, which they are once they are published.
func (w *world) awaitResponders() {
	w.t.Helper()
	w.Eventually(func(g Gomega) []string { return w.nodesOf(g, w.responders(g)) }).Should(HaveLen(2), "Pods of the responder that are ready")
}

// responders are the Pods of the responder that are ready.
func (w *world) responders(g Gomega) []corev1.Pod {
	var pods corev1.PodList
	g.Expect(w.List(w.ctx, &pods, client.InNamespace(w.namespace),
		client.MatchingLabels{criticalv2.LabelResponder: criticalv2.ResponderServer})).To(Succeed())
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !cluster.PodReady(&pod) })
}

// nodesOf are the nodes that Pods are on.
func (w *world) nodesOf(g Gomega, pods []corev1.Pod) []string {
	var nodes []string
	for _, pod := range pods {
		g.Expect(pod.Spec.NodeName).NotTo(BeEmpty())
		nodes = append(nodes, pod.Spec.NodeName)
	}
	slices.Sort(nodes)
	return nodes
}

// standbys are the addresses published for a Service by the operator.
func (w *world) standbys(g Gomega, service *corev1.Service) []string {
	var list discoveryv1.EndpointSliceList
	g.Expect(w.List(w.ctx, &list, client.InNamespace(w.namespace), client.MatchingLabels{
		discoveryv1.LabelServiceName: service.Name, discoveryv1.LabelManagedBy: criticalv2.ManagedBy,
	})).To(Succeed())
	var addresses []string
	for _, slice := range list.Items {
		for _, endpoint := range slice.Endpoints {
			addresses = append(addresses, strings.Join(endpoint.Addresses, ","))
		}
	}
	return addresses
}

// state is what the policy says of a Service.
func (w *world) state(policy *criticalv2.ServiceFallback, service *corev1.Service) func() criticalv2.ServiceState {
	return func() criticalv2.ServiceState {
		current := &criticalv2.ServiceFallback{}
		if err := w.Get(w.ctx, client.ObjectKeyFromObject(policy), current); err != nil {
			return ""
		}
		if detail := current.Status.DetailOf(w.namespace, service.Name); detail != nil {
			return detail.State
		}
		return ""
	}
}
