//go:build e2e && linux

package consumers

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// shop is the label, and the answer, of the application's Pods; page is the answer of the standby.
	shop = "shop"
	page = "page"
	// standbyPort is the port of the standby: another one than the application's, as the operator has it.
	standbyPort = 20000
	// elsewhere is a node that does not exist.
	elsewhere = "elsewhere"
)

// world is the namespace of a test, with an application's Pod and a standby.
type world struct {
	*WithT
	t           *testing.T
	ctx         context.Context
	namespace   string
	application *corev1.Pod
	standby     *corev1.Pod
	services    []*corev1.Service
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{WithT: NewWithT(t), t: t, ctx: context.WithoutCancel(t.Context()), namespace: "consumers-" + utilrand.String(5)}
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
	account := client.ObjectKey{Namespace: w.namespace, Name: "default"}
	w.Eventually(func() error { return shared.Get(w.ctx, account, &corev1.ServiceAccount{}) }).Should(Succeed())
	// The standby closes its connections, as the operator's responder does.
	w.standby = w.running(w.pod(page, standbyPort, "--close"))
	w.recovery()
	return w
}

// pod makes a Pod that answers with the value of its label "app".
func (w *world) pod(app string, port int32, args ...string) *corev1.Pod {
	w.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: app + "-" + utilrand.String(5), Labels: map[string]string{"app": app},
		},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken:  new(false),
			TerminationGracePeriodSeconds: new(int64(1)),
			Containers: []corev1.Container{{
				Name: "web", Image: demoImage,
				Args: append([]string{"web", "--name=" + app, fmt.Sprintf("--port=%d", port)}, args...),
				ReadinessProbe: &corev1.Probe{
					ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(port)}},
					PeriodSeconds: 1,
				},
			}},
		},
	}
	w.create(pod)
	return pod
}

// outage takes the application's Pod away. One that stays, and only is not ready, would go on
// answering on connections that a proxy keeps: kube-proxy does not cut those.
func (w *world) outage() {
	w.t.Helper()
	w.Expect(shared.Delete(w.ctx, w.application)).To(Succeed())
}

// recovery makes a new Pod of the application.
func (w *world) recovery() {
	w.t.Helper()
	w.application = w.running(w.pod(shop, 8080))
}

// running waits until a Pod is ready.
func (w *world) running(pod *corev1.Pod) *corev1.Pod {
	w.t.Helper()
	w.Eventually(func(g Gomega) corev1.PodStatus {
		g.Expect(shared.Get(w.ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		return pod.Status
	}).Should(HaveField("Conditions", ContainElement(And(
		HaveField("Type", corev1.PodReady), HaveField("Status", corev1.ConditionTrue)))), "Pod %s", pod.Name)
	return pod
}

// service makes a Service of the application with one port, and a standby slice on the node given.
func (w *world) service(name, standbyNode string, edits ...func(*corev1.Service)) *corev1.Service {
	w.t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": shop},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
	for _, edit := range edits {
		edit(service)
	}
	w.create(service)
	w.services = append(w.services, service)
	w.create(&discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: name + "-standby-ipv4",
			Labels: map[string]string{
				discoveryv1.LabelServiceName: name,
				discoveryv1.LabelManagedBy:   "consumers.mycrd.com",
			},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(standbyPort)), Protocol: new(corev1.ProtocolTCP)}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses:  []string{w.standby.Status.PodIP},
			Conditions: standbyConditions,
			NodeName:   new(standbyNode),
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: w.namespace, Name: w.standby.Name, UID: w.standby.UID},
		}},
	})
	return service
}

var (
	standbyConditions  = discoveryv1.EndpointConditions{Ready: new(false), Serving: new(true), Terminating: new(true)}
	promotedConditions = discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)}
)

// publish gives the standby slices of all Services these conditions.
func (w *world) publish(conditions discoveryv1.EndpointConditions) {
	w.t.Helper()
	for _, service := range w.services {
		slice := &discoveryv1.EndpointSlice{}
		key := client.ObjectKey{Namespace: w.namespace, Name: service.Name + "-standby-ipv4"}
		w.Expect(shared.Get(w.ctx, key, slice)).To(Succeed())
		before := slice.DeepCopy()
		slice.Endpoints[0].Conditions = conditions
		w.Expect(shared.Patch(w.ctx, slice, client.MergeFrom(before))).To(Succeed())
	}
}

// ingress routes a host through a proxy to a Service, and returns the host.
func (w *world) ingress(proxy *Proxy, service *corev1.Service) string {
	w.t.Helper()
	ingress, host := proxy.Ingress(service)
	w.create(ingress)
	return host
}

// nodeAddress is the address on which NodePorts answer.
func nodeAddress() string {
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return address.Address
		}
	}
	return ""
}
