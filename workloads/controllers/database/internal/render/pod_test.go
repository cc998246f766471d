package render_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
)

// The Database has types of its own for both, which hold whatever is stored.
func TestWhatThePodAsksOfTheCluster(t *testing.T) {
	g := NewWithT(t)
	made := render.Pod(&workloadsv1.Database{Spec: workloadsv1.DatabaseSpec{
		Type: workloadsv1.DatabaseMongo,
		Pod: workloadsv1.PodSettings{
			Resources:   workloadsv1.PodResources{Limits: workloadsv1.Quantities{"memory": "1Gi"}, Requests: workloadsv1.Quantities{"cpu": "2"}},
			Tolerations: []workloadsv1.Toleration{{Key: "disk", Operator: "Equal", Value: "slow", Effect: "NoExecute", TolerationSeconds: new(int64(60))}},
		},
	}}, "mongo:4.0")
	g.Expect(made.Spec.Containers[0].Resources).To(Equal(corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
	}))
	g.Expect(made.Spec.Tolerations).To(Equal([]corev1.Toleration{{
		Key: "disk", Operator: corev1.TolerationOpEqual, Value: "slow", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(60)),
	}}))
}
