package webapp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/bulk"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/render"
)

// Users of any namespace can label what they make so that it is cached, and autoscalers are cached
// without a label.
func TestWhatStrangersWriteIsKeptWithinBounds(t *testing.T) {
	// What the API server bounds is as it may be.
	bounded := func(object client.Object) {
		object.SetName("web")
		object.SetNamespace("shop")
		object.SetUID("1")
		object.SetResourceVersion("2")
		object.SetLabels(map[string]string{workloadsv1.LabelWebApp: "web", workloadsv1.LabelManagedBy: workloadsv1.ManagedBy})
		owners := object.GetOwnerReferences()
		for i := range owners[1:] {
			owners[i+1].Controller = nil
		}
		object.SetAnnotations(map[string]string{workloadsv1.AnnotationApplied: strings.Repeat("x", 200_000)})
	}
	pod := bulk.Fill(&corev1.Pod{})
	pod.Status.Phase, pod.Status.PodIP, pod.Status.HostIP = corev1.PodRunning, "10.0.0.1", "10.0.0.2"
	pod.Spec.Containers[0].Name = render.AppContainer
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Name = fmt.Sprintf("c-%d", i)
	}
	pod.Status.Conditions[0].Type, pod.Status.Conditions[1].Type = corev1.PodReady, corev1.PodScheduled
	for i := range pod.Status.Conditions {
		pod.Status.Conditions[i].Status = corev1.ConditionFalse
	}
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].Name = fmt.Sprintf("c-%d", i)
	}
	pod.Status.ContainerStatuses[0].Name = render.AppContainer
	service := bulk.Fill(&corev1.Service{})
	service.Spec.Type = corev1.ServiceTypeClusterIP
	service.Spec.Ports = make([]corev1.ServicePort, 500)
	const meta = 14_500
	for kind, c := range map[string]struct {
		object client.Object
		slim   func(any) (any, error)
		most   int
	}{
		"Pod":                     {pod, slimPod, meta + 8*600 + 5*600},
		"Service":                 {service, slimService, meta + 2_000},
		"Deployment":              {bulk.Fill(&appsv1.Deployment{}), slimDeployment, meta + 2_000},
		"PodDisruptionBudget":     {bulk.Fill(&policyv1.PodDisruptionBudget{}), slimBudget, meta + 2_000},
		"HorizontalPodAutoscaler": {bulk.Fill(&autoscalingv2.HorizontalPodAutoscaler{}), slimAutoscaler, 2_000},
	} {
		t.Run(kind, func(t *testing.T) {
			g := NewWithT(t)
			bounded(c.object)
			slim, err := c.slim(c.object)
			g.Expect(err).NotTo(HaveOccurred())
			kept, err := json.Marshal(slim)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(len(kept)).To(BeNumerically("<", c.most), "%.3000s", kept)
		})
	}
}

// What is cut off must not make an object look as it should.
func TestWhatIsKeptOfWhatTheOperatorMade(t *testing.T) {
	g := NewWithT(t)
	a := &workloadsv1.WebApp{Spec: workloadsv1.WebAppSpec{Image: "web:1", AutoScaleEnabled: true}}
	a.Name, a.UID = "web", "1"
	deployment := render.Deployment(a, "settings", "workloads:1", 3)
	deployment.Status.Conditions = []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Message: "all well"},
		{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: strings.Repeat("x", 10_000)},
	}
	slim, err := slimDeployment(deployment)
	g.Expect(err).NotTo(HaveOccurred())
	kept := slim.(*appsv1.Deployment)
	g.Expect(kept.Spec).To(Equal(deployment.Spec))
	g.Expect(kept.Annotations).To(HaveKey(workloadsv1.AnnotationApplied))
	g.Expect(kept.Status.Conditions).To(ConsistOf(And(
		HaveField("Type", appsv1.DeploymentReplicaFailure), HaveField("Message", HaveLen(maxImage)))))

	budget := render.Budget(a)
	for i := range 20 {
		budget.Spec.Selector.MatchLabels[fmt.Sprintf("l-%d", i)] = "x"
	}
	slim, err = slimBudget(budget)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(slim.(*policyv1.PodDisruptionBudget).Spec.Selector).To(BeNil())

	tombstone := "another type"
	g.Expect(slimPod(tombstone)).To(Equal(tombstone))
}
