package wake_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/internal/controller/queue"
)

// It may be about other Services after a change: both follow. What does not exist costs
// nothing, because any user of a namespace can name thousands.
func TestAMaintenanceWakesTheServicesThatItIsAboutAndWas(t *testing.T) {
	g := NewWithT(t)
	service := func(name string) client.Object {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	}
	_, cached := observetest.Of(t, service("web"), service("api"), service("cart"), service("other"))
	about := func(services ...string) *criticalv2.Maintenance {
		return &criticalv2.Maintenance{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}, Spec: criticalv2.MaintenanceSpec{Services: services}}
	}
	services := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer services.ShutDown()
	wake.EachState(wake.ServicesOfMaintenance(cached)).Update(t.Context(),
		event.TypedUpdateEvent[client.Object]{ObjectOld: about("web", "api"), ObjectNew: about("web", "cart", "none")}, services)
	g.Expect(namesOf(services)).To(ConsistOf("web", "api", "cart"))
}

// Whom it selected when its selector was valid can be known by what they have of it only.
func TestAPolicyWhoseSelectorIsNotValidWakesTheServicesThatHaveAFallbackOfIt(t *testing.T) {
	g := NewWithT(t)
	policy := &criticalv2.ServiceFallback{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "team", UID: "team"}}
	policy.Spec.ServiceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"no label": ""}}
	owned := func(object client.Object, by types.UID) client.Object {
		object.SetOwnerReferences([]metav1.OwnerReference{{UID: by}})
		return object
	}
	pod := func(name, service string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{criticalv2.LabelFallbackFor: service}}}
	}
	_, cached := observetest.Of(t, owned(ofPage("web"), "team"), owned(ofPage("other"), "another"), owned(pod("a", "api"), "team"),
		owned(pod("b", ""), "team"), owned(pod("c", "other"), "another"))
	services := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer services.ShutDown()
	wake.ServicesOfPolicy(cached)(t.Context(), policy, services)
	g.Expect(namesOf(services)).To(ConsistOf("web", "api"))
}

// namesOf are those of the Services that wait in a queue.
func namesOf(services queue.Requests) (names []string) {
	for services.Len() > 0 {
		request, _ := services.Get()
		names = append(names, request.Name)
		services.Done(request)
	}
	return names
}

// ofPage is a standby slice of a Service with a page.
func ofPage(service string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: service + "-standby-ipv4", Labels: map[string]string{
			discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: criticalv2.ManagedBy, criticalv2.LabelFallbackKind: criticalv2.FallbackKindPage,
		},
	}}
}

// A rollout changes the counts of a Deployment many times, and thousands of Services may
// have a page.
func TestADeploymentWakesItsServicesWhereItsProblemChanges(t *testing.T) {
	with := func(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, message string) *appsv1.Deployment {
		return &appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Type: kind, Status: status, Message: message}}}}
	}
	counted := &appsv1.Deployment{Status: appsv1.DeploymentStatus{ReadyReplicas: 1}}
	another := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: "another"}}
	ours := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderServer}}}
	for name, test := range map[string]struct {
		before, after *appsv1.Deployment
		wakes         bool
	}{
		"a Pod becomes ready":       {&appsv1.Deployment{}, counted, false},
		"a rollout goes on":         {with(appsv1.DeploymentProgressing, corev1.ConditionTrue, "a"), with(appsv1.DeploymentProgressing, corev1.ConditionTrue, "b"), false},
		"a rollout is stuck":        {with(appsv1.DeploymentProgressing, corev1.ConditionTrue, "a"), with(appsv1.DeploymentProgressing, corev1.ConditionFalse, "a"), true},
		"Pods are denied":           {&appsv1.Deployment{}, with(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "quota"), true},
		"for another reason":        {with(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "quota"), with(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "policy"), true},
		"it is another Deployment":  {&appsv1.Deployment{}, another, true},
		"it becomes the operator's": {&appsv1.Deployment{}, ours, true},
	} {
		t.Run(name, func(t *testing.T) {
			changed := event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after}
			NewWithT(t).Expect(wake.ProblemChanged.Update(changed)).To(Equal(test.wakes))
		})
	}
}

// Each of them wakes every Service with a page.
func TestAPodOfTheResponderPassesWhereWhatIsReadOfItChanges(t *testing.T) {
	pod := func(changes ...func(*corev1.Pod)) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a", Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderServer}}}
		for _, change := range changes {
			change(pod)
		}
		return pod
	}
	annotated := func(key string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Annotations = map[string]string{key: "2"} }
	}
	ready := func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	relabelled := func(pod *corev1.Pod) { pod.Labels = map[string]string{criticalv2.LabelFallbackFor: "web"} }
	forDenied := func(pod *corev1.Pod) { pod.Labels[criticalv2.LabelFallbackFor] = "" }
	for name, test := range map[string]struct {
		before, after *corev1.Pod
		passes        bool
	}{
		"nothing changed":                          {pod(), pod(), false},
		"the kubelet is to look at its mounts":     {pod(), pod(annotated(criticalv2.AnnotationContentVersion)), false},
		"it listens on other ports":                {pod(), pod(annotated(criticalv2.AnnotationListeners)), true},
		"it is ready":                              {pod(), pod(ready), true},
		"it ends":                                  {pod(), pod(func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{} }), true},
		"it is another":                            {pod(), pod(func(pod *corev1.Pod) { pod.UID = "b" }), true},
		"it has an address":                        {pod(), pod(func(pod *corev1.Pod) { pod.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}} }), true},
		"a user made it the fallback of a Service": {pod(), pod(relabelled), true},
		"a user made it no Service's fallback":     {pod(), pod(forDenied), true},
		"the fallback of a Service is ready":       {pod(relabelled), pod(relabelled, ready), false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(wake.OfResponder.Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after})).To(Equal(test.passes))
			g.Expect(wake.OfResponder.Update(event.UpdateEvent{ObjectOld: test.after, ObjectNew: test.before})).To(Equal(test.passes))
		})
	}
	g := NewWithT(t)
	g.Expect(wake.OfResponder.Create(event.CreateEvent{Object: pod()})).To(BeTrue())
	g.Expect(wake.OfResponder.Create(event.CreateEvent{Object: pod(relabelled)})).To(BeFalse())
	g.Expect(wake.OfResponder.Create(event.CreateEvent{Object: pod(func(pod *corev1.Pod) { pod.Labels = nil })})).To(BeFalse(), "any user can make Pods")
	g.Expect(wake.OfResponder.Delete(event.DeleteEvent{Object: pod()})).To(BeTrue())
}

// At a start every Service is woken at once, and a standby that stayed promoted while no
// operator ran takes requests from an application that is ready.
func TestAServiceComesFirstWhereItMayBeDownOrItsStandbyMayHaveToStepBack(t *testing.T) {
	application := func(ready bool) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
			Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		}
	}
	standby := func(promoted bool) *discoveryv1.EndpointSlice {
		slice := ofPage("web")
		slice.Endpoints = application(promoted).Endpoints
		return slice
	}
	for name, test := range map[string]struct {
		slice *discoveryv1.EndpointSlice
		want  int
	}{
		"the application has no ready endpoint": {application(false), wake.OutagePriority},
		"the application is ready":              {application(true), 0},
		"the standby is promoted":               {standby(true), wake.OutagePriority},
		"the standby stands by":                 {standby(false), 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			observer, _ := observetest.Of(t)
			queue := priorityqueue.New[reconcile.Request](t.Name())
			defer queue.ShutDown()
			wake.EachState(wake.ServiceOfSlice(observer.Cached)).Create(t.Context(), event.CreateEvent{Object: test.slice}, queue)
			request, priority, _ := queue.GetWithPriority()
			g.Expect(request).To(Equal(wake.Request("shop", "web")))
			g.Expect(priority).To(Equal(test.want))
		})
	}
}
