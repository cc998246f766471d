package render

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// scaleAt is how much CPU a Pod uses on average before there are more of them: half of its
// limit. A share of its request would not do, which is for a responder at rest.
var scaleAt = resource.MustParse("500m")

// Scales reports whether there are more Pods with more load.
func (r *Responder) Scales() bool { return r.MaxReplicas > r.Replicas }

// Autoscaler is Kubernetes' own, by the CPU that the Pods use: most of what the responder
// does is to take connections and to answer, and both cost CPU. It needs the resource
// metrics API (metrics-server); without, the number of Pods stays.
func (r *Responder) Autoscaler() *autoscalingv2.HorizontalPodAutoscaler {
	made := &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"},
		ObjectMeta: r.meta(criticalv2.ResponderServer),
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: criticalv2.ResponderName},
			MinReplicas:    new(r.Replicas),
			MaxReplicas:    r.MaxReplicas,
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{
					Name:   corev1.ResourceCPU,
					Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &scaleAt},
				},
			}},
		},
	}
	seal(&made.ObjectMeta, made)
	return made
}
