//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/cluster"
)

// application is a Service with two Pods that answer as "shop", and that can lose them in many ways.
type application struct {
	*service
	// deployment has the Pods; nil where no one replaces them.
	deployment *appsv1.Deployment
	made       int
}

// outage is a way to lose all Pods at once, and the way back.
type outage struct {
	// alone: the Pods have no controller that would replace them at once. Their addresses vanish with them.
	alone bool
	begin func(*application)
	end   func(*application)
	// lossless: the Pods go on answering until all proxies have followed, so that no request is lost.
	lossless bool
}

var outages = map[string]outage{
	"scaled to zero": {
		lossless: true,
		begin:    func(a *application) { a.scale(a.deployment, 0) },
		end:      func(a *application) { a.scale(a.deployment, 2) },
	},
	"failing readiness": {
		lossless: true,
		begin:    func(a *application) { a.tell("/unready") },
		end:      (*application).deletePods,
	},
	"crashed":            {alone: true, begin: func(a *application) { a.tell("/crash") }, end: (*application).start},
	"deleted by force":   {alone: true, begin: (*application).deletePodsByForce, end: (*application).start},
	"killed on the node": {alone: true, begin: (*application).killPods, end: (*application).start},
}

// application makes the Service and its Pods, without declaring it critical.
func (w *world) application(kind outage) *application {
	w.t.Helper()
	a := &application{service: w.service("shop", ofTypeNodePort)}
	if kind.alone {
		a.start()
		return a
	}
	a.deployment = &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shop"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: labels{"app": "shop"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels{"app": "shop"}}, Spec: politePod("shop")},
		},
	}
	w.create(a.deployment)
	return a
}

func ofTypeNodePort(service *corev1.Service) { service.Spec.Type = corev1.ServiceTypeNodePort }

// politePod is a Pod of an application that ends as Kubernetes advises: asked to stop, it says at once
// that it is not ready, and goes on answering for longer than kubelet and proxies take to follow.
func politePod(name string) corev1.PodSpec {
	pod := webPod(name, "--drain=6s", "--control")
	pod.TerminationGracePeriodSeconds = new(int64(15))
	// On a busy machine, one probe that is late does not make an outage, and a Pod that asks for no
	// CPU gets none.
	pod.Containers[0].ReadinessProbe.FailureThreshold = 2
	pod.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("20m")}
	return pod
}

// start makes two Pods that stay dead when they die.
func (a *application) start() {
	a.t.Helper()
	for range 2 {
		a.made++
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: fmt.Sprintf("shop-%d", a.made), Labels: labels{"app": "shop"}},
			Spec:       politePod("shop"),
		}
		pod.Spec.RestartPolicy = corev1.RestartPolicyNever
		a.create(pod)
	}
}

// pods are the application's two Pods, once both are ready: one that was starting would survive what happens to them.
func (a *application) pods() []corev1.Pod {
	a.t.Helper()
	a.Eventually(a.ownReady).Should(Equal(2), "ready endpoints of the application")
	var running []corev1.Pod
	for _, pod := range a.podsWith(a, labels{"app": "shop"}) {
		if cluster.PodReady(&pod) {
			running = append(running, pod)
		}
	}
	a.Expect(running).To(HaveLen(2), "Pods of the application that run")
	return running
}

// tell gives an order to each Pod; see test/workload.
func (a *application) tell(order string) {
	a.t.Helper()
	for _, pod := range a.pods() {
		response, err := oneConnectionEach.Post(urlOf(pod.Status.PodIP, 8080)+order[1:], "", nil)
		if err != nil {
			// A Pod that crashes on request does not answer.
			a.Expect(order).To(Equal("/crash"), "%v", err)
			continue
		}
		_ = response.Body.Close()
		a.Expect(response.StatusCode).To(Equal(http.StatusOK))
	}
}

// deletePods deletes the Pods that are there, ready or not; the Deployment makes new ones.
func (a *application) deletePods() {
	a.t.Helper()
	a.Expect(a.DeleteAllOf(a.ctx, &corev1.Pod{}, client.InNamespace(a.namespace), client.MatchingLabels{"app": "shop"})).To(Succeed())
}

func (a *application) deletePodsByForce() {
	a.t.Helper()
	a.Expect(a.DeleteAllOf(a.ctx, &corev1.Pod{}, client.InNamespace(a.namespace), client.MatchingLabels{"app": "shop"},
		client.GracePeriodSeconds(0))).To(Succeed())
}

// killPods ends all processes of the Pods, their sandboxes included, behind Kubernetes' back.
func (a *application) killPods() {
	a.t.Helper()
	for _, pod := range a.pods() {
		a.killProcesses(&pod)
	}
}

// watchers ask the Service from inside and from outside the cluster; more often where no request may be lost.
func (a *application) watchers(kind outage) []*watch {
	a.t.Helper()
	const some, few = 50, 20
	name, rate := a.namespace+"/"+a.object.Name, manyRequests
	if !kind.lossless {
		rate = some
	}
	watching := []*watch{
		a.watch("Service "+name, a.url(), rate),
		a.watch("NodePort "+strconv.Itoa(int(a.object.Spec.Ports[0].NodePort))+" of Service "+name, a.nodePortURL(), few),
	}
	for _, o := range watching {
		o.vanishing = kind.alone
	}
	return watching
}

// isBack waits for a ready endpoint of the application's own, and says when it was seen.
func (a *application) isBack() time.Time {
	a.t.Helper()
	a.Eventually(a.ownReady).Should(BeNumerically(">", 0), "ready endpoints of the application")
	return time.Now()
}
