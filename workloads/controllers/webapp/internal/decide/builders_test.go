package decide_test

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/scale"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// webApp is one with a database, as the API server stores it.
func webApp(changes ...func(*workloadsv1.WebApp)) *workloadsv1.WebApp {
	a := &workloadsv1.WebApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "of-web", Generation: 1, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
		Spec: workloadsv1.WebAppSpec{
			AppName: "web", Image: "web:1", DBImage: "mysql:8.0", DBSize: "1Gi", Replicas: new(int32(2)), MinReplicas: 1, Port: 80,
		},
	}
	for _, change := range changes {
		change(a)
	}
	return a
}

func autoscaled(a *workloadsv1.WebApp) { a.Spec.AutoScaleEnabled, a.Spec.TrafficThreshold = true, 100 }

// running is a WebApp as it is once nothing is missing.
func running(changes ...func(*workloadsv1.WebApp)) decide.Snapshot {
	return settle(decide.Snapshot{Now: now, WebApp: webApp(changes...), MeterImage: "workloads:1", Fallback: fallback.Seen{Served: true}})
}

// serves is the traffic of all Pods.
func serves(s *decide.Snapshot, requestsPerSecond float64) {
	s.Reading = scale.Reading{Asked: 2, Known: 2, RequestsPerSecond: requestsPerSecond}
}

// mostSteps is how many plans it takes at most until nothing is left to do.
const mostSteps = 6

// settle carries plans out until they are empty, as the API server and the cluster would.
func settle(s decide.Snapshot) decide.Snapshot {
	for range mostSteps {
		plan := decide.Decide(s)
		if plan.IsEmpty() {
			break
		}
		s = carriedOut(s, &plan)
	}
	return s
}

// carriedOut is what there is after a Plan. The Snapshot that it was made of is left as it is.
func carriedOut(s decide.Snapshot, plan *decide.Plan) decide.Snapshot {
	if plan.Fallback.Apply != nil {
		s.Fallback.Object = plan.Fallback.Apply
	}
	if plan.Fallback.Remove != nil {
		s.Fallback.Object = nil
	}
	if plan.Service != nil {
		s.Service = plan.Service
	}
	if plan.Database != nil {
		s.Database = plan.Database
	}
	if plan.Deployment != nil {
		s.Deployment = plan.Deployment.DeepCopy()
		s.Deployment.ResourceVersion = "2"
		rolledOut(s.Deployment)
	}
	if plan.Scale != nil && plan.Deployment == nil {
		s.Deployment = s.Deployment.DeepCopy()
		s.Deployment.Spec.Replicas = new(*plan.Scale)
		rolledOut(s.Deployment)
	}
	if plan.Budget != nil {
		s.Budget = plan.Budget
	}
	if plan.RemoveBudget != nil {
		s.Budget = nil
	}
	s.Memory, s.Refusals = plan.Memory, nil
	return s
}

func rolledOut(d *appsv1.Deployment) {
	n := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n}
}

func foreign(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "of-another", Labels: map[string]string{"team": "other"}}
}

// failing is a Pod that does not become ready.
func failing(reason string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1-a"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "web:bad"}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "app", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
		}}},
	}
}

// unmetered is a Pod whose meter does not start.
func unmetered() *corev1.Pod {
	pod := failing("PodInitializing")
	pod.Spec.InitContainers = []corev1.Container{{Name: "meter", Image: "workloads:bad"}}
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: "meter", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}},
	}}
	return pod
}

func condition(plan *decide.Plan, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(plan.Status.Conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{}
}

func answers(d *workloadsv1.Database) {
	d.Status.ObservedGeneration = d.Generation
	meta.SetStatusCondition(&d.Status.Conditions, metav1.Condition{Type: workloadsv1.ConditionReady, Status: metav1.ConditionTrue, Reason: workloadsv1.ReasonRunning, Message: "It answers."})
}

func pageOf(plan *decide.Plan) *criticalv2.ServiceFallback { return plan.Fallback.Apply }
