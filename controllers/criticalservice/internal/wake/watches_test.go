package wake_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/internal/contract/listener"
)

// A table changes with each Service that is armed: if each change woke all Services, the
// cost of arming them would grow with their square.
func TestATableWakesTheServicesWhoseListenersChanged(t *testing.T) {
	page := criticalv2.DefaultPage()
	other := criticalv2.DefaultPage()
	other.Message = "Back at noon."
	web := listener.Listener{Service: "web", ServicePort: 80, Port: 20000, Page: page}
	api := listener.Listener{Service: "api", ServicePort: 80, Port: 20001, Page: page}
	moved, changed := web, web
	moved.Port, changed.Page = 20002, other
	invalid := &corev1.ConfigMap{Data: map[string]string{listener.Key: "{"}}
	for name, test := range map[string]struct {
		before, after *corev1.ConfigMap
		woken         []string
	}{
		"nothing changed":              {table(t, web, api), table(t, web, api), nil},
		"a listener came":              {table(t, web), table(t, web, api), []string{"api"}},
		"a listener went":              {table(t, web, api), table(t, web), []string{"api"}},
		"a listener moved":             {table(t, web, api), table(t, api, moved), []string{"web"}},
		"a page changed":               {table(t, web, api), table(t, changed, api), []string{"web"}},
		"a table becomes invalid":      {table(t, web, api), labelled(invalid), []string{"all-of-pages"}},
		"a table becomes valid again":  {labelled(invalid), table(t, web, api), []string{"all-of-pages"}},
		"another user takes its label": {table(t, web, api), invalid, []string{"all-of-pages"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			observer, _ := observetest.Of(t, &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "all-of-pages-standby-ipv4", Labels: map[string]string{
					discoveryv1.LabelServiceName: "all-of-pages", discoveryv1.LabelManagedBy: criticalv2.ManagedBy, criticalv2.LabelFallbackKind: criticalv2.FallbackKindPage,
				},
			}})
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer queue.ShutDown()
			wake.ConfigMaps(observer.Cached).Update(t.Context(), event.TypedUpdateEvent[client.Object]{ObjectOld: in(test.before), ObjectNew: in(test.after)}, queue)
			var woken []string
			for queue.Len() > 0 {
				request, _ := queue.Get()
				g.Expect(request.Namespace).To(Equal("shop"))
				woken = append(woken, request.Name)
				queue.Done(request)
			}
			slices.Sort(woken)
			g.Expect(woken).To(Equal(test.woken))
		})
	}
}

func table(t *testing.T, listeners ...listener.Listener) *corev1.ConfigMap {
	t.Helper()
	data, err := (&listener.Table{Listeners: listeners}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	return labelled(&corev1.ConfigMap{Data: map[string]string{listener.Key: string(data)}})
}

func labelled(config *corev1.ConfigMap) *corev1.ConfigMap {
	config = config.DeepCopy()
	config.Labels = map[string]string{criticalv2.LabelResponder: criticalv2.ResponderListeners}
	return config
}

func in(config *corev1.ConfigMap) *corev1.ConfigMap {
	config = config.DeepCopy()
	config.Namespace, config.Name = "shop", criticalv2.ResponderName
	return config
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

func TestAPodIsOfTheResponderWhereItStandsInForNoSingleService(t *testing.T) {
	g := NewWithT(t)
	named := func(service string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{criticalv2.LabelFallbackFor: service}}}
	}
	g.Expect(wake.OfResponder.Create(event.CreateEvent{Object: named("")})).To(BeTrue())
	g.Expect(wake.OfResponder.Create(event.CreateEvent{Object: named("web")})).To(BeFalse())
	g.Expect(wake.OfResponder.Delete(event.DeleteEvent{Object: named("")})).To(BeTrue())
	g.Expect(wake.OfResponder.Update(event.UpdateEvent{ObjectOld: named(""), ObjectNew: named("web")})).To(BeTrue(), "a user changed its label")
	g.Expect(wake.OfResponder.Update(event.UpdateEvent{ObjectOld: named("web"), ObjectNew: named("web")})).To(BeFalse())
}
