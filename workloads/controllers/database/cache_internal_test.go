package database

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/bulk"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// Users of any namespace can label what they make so that it is cached. Each kind has a bound
// that has no room for one more field.
func TestWhatStrangersWriteIsKeptWithinBounds(t *testing.T) {
	// What the API server bounds is as it may be.
	bounded := func(object client.Object) {
		object.SetName("orders")
		object.SetNamespace("shop")
		object.SetUID("1")
		object.SetResourceVersion("2")
		object.GetLabels()[workloadsv1.LabelDatabase] = "orders"
		object.GetLabels()[workloadsv1.LabelManagedBy] = workloadsv1.ManagedBy
		owners := object.GetOwnerReferences()
		for i := range owners[1:] {
			owners[i+1].Controller = nil
		}
		object.GetAnnotations()[workloadsv1.AnnotationEngine] = strings.Repeat("x", 200_000)
	}
	pod := bulk.Fill(&corev1.Pod{})
	pod.Spec.NodeName, pod.Status.Phase = "node-1", corev1.PodRunning
	pod.Spec.Containers[0].Name = "mongo"
	pod.Status.Conditions[0].Type, pod.Status.Conditions[1].Type = corev1.PodReady, corev1.PodScheduled
	for i := range pod.Status.Conditions {
		pod.Status.Conditions[i].Status = corev1.ConditionFalse
	}
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].Name = fmt.Sprintf("sidecar-%d", i)
	}
	pod.Status.ContainerStatuses[0].Name = "mongo"
	service := bulk.Fill(&corev1.Service{})
	service.Spec.Type, service.Spec.Selector = corev1.ServiceTypeNodePort, map[string]string{}
	for letter := range strings.SplitSeq("abcdefghijklmnopqrstuvwxyz", "") {
		service.Spec.Selector["example.com/"+letter] = letter
	}
	service.Spec.Ports[0] = corev1.ServicePort{Name: "mongo", Port: 27017, NodePort: 31480}
	claim := bulk.Fill(&corev1.PersistentVolumeClaim{})
	claim.Status.Phase = corev1.ClaimBound
	claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("1Gi")
	database := bulk.Fill(&workloadsv1.Database{})
	database.Spec, database.Status = workloadsv1.DatabaseSpec{Type: "mongo"}, workloadsv1.DatabaseStatus{}

	const meta = 13_500
	for kind, c := range map[string]struct {
		object client.Object
		slim   func(any) (any, error)
		most   int
	}{
		"Pod":      {pod, slimPod, meta + 20_500},
		"Service":  {service, slimService, meta},
		"claim":    {claim, slimClaim, meta},
		"Database": {database, slimDatabase, 500},
	} {
		t.Run(kind, func(t *testing.T) {
			g := NewWithT(t)
			bounded(c.object)
			slim, err := c.slim(c.object)
			g.Expect(err).NotTo(HaveOccurred())
			kept, err := json.Marshal(slim)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(len(kept)).To(BeNumerically("<", c.most), "%.3000s", kept)
			g.Expect(len(kept)).To(BeNumerically(">", c.most-4000), "a bound with room is none")
		})
	}
}

// A message names the limit of memory; all else that is limited is in none.
func TestWhatIsKeptOfALimit(t *testing.T) {
	g := NewWithT(t)
	memory := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")}
	for _, limits := range []corev1.ResourceList{memory, nil} {
		has := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		maps.Copy(has, limits)
		slim, err := slimPod(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "mongo", Resources: corev1.ResourceRequirements{Limits: has}}}}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(slim.(*corev1.Pod).Spec.Containers[0].Resources.Limits).To(Equal(limits))
	}
}

func TestWhatIsKeptOfAService(t *testing.T) {
	g := NewWithT(t)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "orders"}, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"a": "b", "c": "d", "e": "f", workloadsv1.LabelDatabase: "orders"},
		Ports:    []corev1.ServicePort{{Port: 80}, {Port: 3306, NodePort: 31480}},
	}}
	slim, err := slimService(service)
	g.Expect(err).NotTo(HaveOccurred())
	spec := slim.(*corev1.Service).Spec
	g.Expect(spec.Selector).To(HaveKey(workloadsv1.LabelDatabase))
	g.Expect(len(spec.Selector)).To(BeNumerically(">", 1), "a selector that another has changed must not look as it should")
	g.Expect(spec.Ports).To(Equal(service.Spec.Ports[1:]))
}
